"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const find = (id) => document.getElementById(id);

  // The same rules as in _written.py.
  const fixed = (value, decimals) => {
    const scale = 10 ** decimals;
    const below = Math.floor(value * scale);
    const past = value * scale - below;
    const up = past > 0.5 || (past === 0.5 && below % 2 === 1);
    const [whole, rest] = ((below + up) / scale).toFixed(decimals).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return rest ? `${grouped}.${rest}` : grouped;
  };
  const write = {
    whole: (value) => fixed(value, 0),
    hits: (value) => fixed(value, data.decimals),
    rough: (value) => fixed(value, Math.max(data.decimals, !value || value >= 0.5 ? 0 : value >= 0.05 ? 1 : 2)),
    percent: (share) => {
      const value = 100 * share;
      if (!value) return "0 %";
      return `${fixed(value, value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2)} %`;
    },
  };

  // The budget.
  const budgets = data.values.k || [];
  const controls = find("budget-controls");
  const between = (series, k) => {
    let low = 0;
    let high = budgets.length - 1;
    if (k >= budgets[high]) return series[high];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (budgets[middle] <= k) low = middle;
      else high = middle - 1;
    }
    const part = (k - budgets[low]) / (budgets[low + 1] - budgets[low]);
    return series[low] + part * (series[low + 1] - series[low]);
  };
  const more = (k) => {
    const third = k / 3;
    const below = Math.floor(third);
    const past = third - below;
    return Math.max(1, past > 0.5 || (past === 0.5 && below % 2 === 1) ? below + 1 : below);
  };
  const value = (field, k) => {
    if (field === "rate") return k / data.candidates;
    if (field === "more") return more(k);
    if (field === "next") return between(data.values.hits, k + more(k)) - between(data.values.hits, k);
    return between(data.values[field], k);
  };
  if (controls) {
    const slider = find("budget-slider");
    const number = find("budget-number");
    const most = Number(slider.max);
    const texts = document.querySelectorAll("[data-show]");
    const marks = document.querySelectorAll("[data-move]");
    const show = (k) => {
      for (const text of texts) {
        const [field, format] = text.dataset.show.split(":");
        text.textContent = write[format](value(field, k));
      }
      for (const mark of marks) {
        for (const pair of mark.dataset.move.split(" ")) {
          const [attribute, place] = pair.split(":");
          mark.setAttribute(attribute, `${between(data.places[place], k).toFixed(2)}%`);
        }
      }
      slider.setAttribute("aria-valuetext", `${fixed(k, 0)} candidates`);
    };
    const choose = (k) => {
      number.value = slider.value = k;
      number.removeAttribute("aria-invalid");
      show(k);
    };
    slider.addEventListener("input", () => choose(Number(slider.value)));
    number.addEventListener("input", () => {
      const k = number.valueAsNumber;
      if (Number.isInteger(k) && k >= 1 && k <= most) {
        slider.value = k;
        number.removeAttribute("aria-invalid");
        show(k);
      } else number.setAttribute("aria-invalid", "true");
    });
    // Leaving the field with a value that cannot be: take the nearest that can.
    number.addEventListener("change", () => {
      const k = Math.round(number.valueAsNumber);
      choose(Number.isFinite(k) ? Math.min(Math.max(k, 1), most) : data.k);
    });
    find("budget-reset").addEventListener("click", () => choose(data.k));
    // A reload may keep what the reader had typed.
    choose(data.k);
    controls.hidden = false;
  }

  // The list: search, sort, unfold, download.
  const table = find("list-table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const list = data.list;
  const order = new Map(rows.map((row, i) => [row, i]));
  const words = list.rows.map((row, i) => [...row, ...(list.why[i] || [])].join(" ").toLowerCase());
  const count = find("list-count");
  const search = find("list-search");
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const [row, i] of order) {
      row.hidden = !words[i].includes(wanted);
      shown += !row.hidden;
    }
    const all = `${fixed(rows.length, 0)} rows`;
    count.textContent = wanted ? `${fixed(shown, 0)} of ${all}` : all;
    cue();
  });

  for (const head of table.tHead.rows[0].cells) {
    if (head.dataset.column === undefined) continue;
    const column = Number(head.dataset.column);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.dataset.name = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numbers = list.rows.every((row) => row[column] === null || typeof row[column] === "number");
      const first = column === 0 || !numbers ? "ascending" : "descending";
      const second = first === "ascending" ? "descending" : "ascending";
      const way = head.getAttribute("aria-sort") === first ? second : first;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way);
      const sign = way === "ascending" ? 1 : -1;
      const sorted = [...rows].sort((a, b) => {
        const [x, y] = [a, b].map((row) => list.rows[order.get(row)][column]);
        // What is missing comes last, either way; equals keep their rank.
        if (x === null || y === null) return (x === null) - (y === null) || order.get(a) - order.get(b);
        const difference = numbers ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
        return sign * difference || order.get(a) - order.get(b);
      });
      body.append(...sorted);
    });
  }

  const shown = new Set(list.shown.map((j) => j + 4));
  body.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.open || details.querySelector(".cells")) return;
    const row = list.rows[order.get(details.closest("tr"))];
    const cells = document.createElement("dl");
    cells.className = "cells";
    list.names.forEach((name, j) => {
      if (j < 4 || shown.has(j)) return;
      const pair = document.createElement("div");
      const [term, text] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      text.textContent = row[j] === null ? "–" : row[j];
      pair.append(term, text);
      cells.append(pair);
    });
    if (cells.children.length) details.append(cells);
  }, true);

  const cell = (value) => {
    if (value === null || value === undefined) return "";
    // Text that a spreadsheet would run as a formula gets an apostrophe.
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = () => {
    const lines = [[...list.names, ...list.reasons]];
    list.rows.forEach((row, i) => {
      const why = list.reasons.map((_, j) => (list.why[i] || [])[j]);
      lines.push([...row, ...why]);
    });
    return lines.map((line) => `${line.map(cell).join(",")}\n`).join("");
  };
  find("list-download").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv()], { type: "text/csv" }));
    link.download = data.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  find("list-tools").hidden = false;

  // A cue where the list goes on.
  const box = table.closest(".scroll");
  const frame = box.closest(".frame");
  const cue = () => {
    frame.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
    frame.classList.toggle("more-below", box.scrollTop + box.clientHeight < box.scrollHeight - 2);
  };
  box.addEventListener("scroll", cue, { passive: true });
  addEventListener("resize", cue);
  cue();

})();

"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const budgets = data.values.k;
  const controls = document.getElementById("budget-controls");
  if (!controls) return;
  const slider = document.getElementById("budget-slider");
  const number = document.getElementById("budget-number");
  const reset = document.getElementById("budget-reset");

  // The same rules as in _words.py.
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
    count: (value) => fixed(value, 1).replace(/\.0$/, ""),
    percent: (share) => {
      const value = 100 * share;
      return `${fixed(value, value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2)} %`;
    },
  };

  // Index of the last budget of at most k.
  const below = (k) => {
    let low = 0;
    let high = budgets.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (budgets[middle] <= k) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  // Linear between two budgets, as the lines of the charts are drawn.
  const between = (series, k) => {
    const i = below(k);
    if (i + 1 >= budgets.length) return series[i];
    const part = (k - budgets[i]) / (budgets[i + 1] - budgets[i]);
    return series[i] + part * (series[i + 1] - series[i]);
  };
  const value = (field, k) => {
    if (field === "rate") return k / data.candidates;
    if (field === "precision") return between(data.values.hits, k) / k;
    return between(data.values[field], k);
  };

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
    number.value = k;
    number.removeAttribute("aria-invalid");
    const i = below(k);
    const next = Math.min(i + 1, budgets.length - 1);
    slider.value = k - budgets[i] <= budgets[next] - k ? i : next;
    show(k);
  };

  slider.addEventListener("input", () => {
    number.value = budgets[slider.value];
    number.removeAttribute("aria-invalid");
    show(budgets[slider.value]);
  });
  number.addEventListener("input", () => {
    const k = number.valueAsNumber;
    if (Number.isInteger(k) && k >= 1 && k <= data.candidates) {
      slider.value = below(k);
      number.removeAttribute("aria-invalid");
      show(k);
    } else {
      number.setAttribute("aria-invalid", "true");
    }
  });
  // Leaving the field with a value that cannot be: take the nearest that can.
  number.addEventListener("change", () => {
    const k = Math.round(number.valueAsNumber);
    choose(Number.isFinite(k) ? Math.min(Math.max(k, 1), data.candidates) : data.k);
  });
  reset.addEventListener("click", () => choose(data.k));

  // A reload may keep what the reader had typed.
  choose(data.k);
  controls.hidden = false;
})();

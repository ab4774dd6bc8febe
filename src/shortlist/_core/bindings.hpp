// What every family adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace shortlist {

void bind_rows(nanobind::module_& m);
void bind_top(nanobind::module_& m);
void bind_interior(nanobind::module_& m);
void bind_topk(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_transductive(nanobind::module_& m);
void bind_rivals(nanobind::module_& m);

}  // namespace shortlist

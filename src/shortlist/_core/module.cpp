#include "bindings.hpp"

NB_MODULE(_core, m) {
  shortlist::bind_rows(m);
  shortlist::bind_top(m);
  shortlist::bind_topk(m);
  shortlist::bind_pairs(m);
  shortlist::bind_transductive(m);
}

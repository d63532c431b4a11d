// Forms of a network: converted as a map of precisions says, and ready to run.
#ifndef DQ_QUANT_MIX_FORM_H
#define DQ_QUANT_MIX_FORM_H

#include "lib/session/session.h"
#include "quant/mix/mix_network.h"

// Makes forms, all with the decisions and ranges of the network with all layers in 8 bits.
typedef struct dq_mix_maker {
  const dq_graph *graph;
  dq_data *data;               // from which ranges are taken that `whole` lacks
  const dq_int8_options *int8; // without precision, table and start
  dq_int8_report whole;        // its table grows by the ranges of forms
  const dq_context *context;   // without a receiver of messages
  dq_arena *arena;             // of the table
} dq_mix_maker;

// Converts a copy of the graph, *made, which the caller frees; the graph must outlive it. `report` may be NULL. With
// the map as options->precision dq_int8_apply gives the same graph. Statuses as dq_int8_apply.
dq_status dq_mix_make(dq_mix_maker *maker, const dq_precision_map *map, dq_graph **made, dq_int8_report *report,
                      dq_error *error);

typedef struct dq_mix_form {
  const uint8_t *choice; // [unit_count]; NULL: the form is of a map that divides units
  dq_graph *graph;       // owned
  dq_session session;    // owned
  double *steps;         // [steps of the plan]: median seconds
  double seconds;        // median of a run that measures no steps
  double *runs;          // [rounds]: seconds of each run
} dq_mix_form;

// Makes a form of the map and binds it; sets graph and session of *form, which was zeroed. The caller closes it, also
// after a failure. Statuses as dq_mix_make and dq_session_open.
dq_status dq_mix_form_open(dq_mix_form *form, dq_mix_maker *maker, const dq_precision_map *map,
                           const dq_shape_request *shapes, dq_error *error);
// Frees graph and session; allowed on a zeroed struct. The arrays of times belong to their arena and stay.
void dq_mix_form_close(dq_mix_form *form);

// How often each form runs: as a whole, and with the time of every step; 0 or more each.
typedef struct dq_mix_rounds {
  int64_t rounds, step_rounds;
} dq_mix_rounds;
// Runs forms[count], which are open, in turns on random numbers: rounds->rounds times as a whole and
// rounds->step_rounds times with the time of every step, each behind a run that does not count, so the time is that of
// `count` times twice rounds + step_rounds runs. Sets `runs`, `seconds` (where rounds is above 0) and `steps` (zeros
// where step_rounds is 0), less the time that reading the clock takes and fitted to the run (dq_mix_fit_steps), of each
// form; the arrays are in the arena. With one thread the times are those of its processor (dq_thread_nanoseconds), else
// of the wall clock. The plans keep that clock. Statuses as dq_plan_run.
dq_status dq_mix_form_run(dq_mix_form *forms, int count, const dq_mix_rounds *rounds, const dq_context *context,
                          dq_arena *arena, dq_error *error);

// Multiplies steps[count] so that together they take `seconds`, as a run does whose steps are not measured. Steps that
// take no time stay as they are.
void dq_mix_fit_steps(double *steps, int count, double seconds);

#endif

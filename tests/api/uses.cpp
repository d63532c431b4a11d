// A program in C++ that uses the library as it is: quantizes, runs, and reads the message of a failure.
// ./uses MODEL
#include <dq.h>

#include <cstdio>
#include <cstring>
#include <memory>

template <typename T, void (*release)(T *)> struct closer {
  void operator()(T *handle) const { release(handle); }
};
template <typename T, void (*release)(T *)> using owner = std::unique_ptr<T, closer<T, release>>;

static int fail(const dq_failure &failure) {
  std::fprintf(stderr, "%s\n", failure.message);
  return 1;
}

int main(int, char **arguments) {
  dq_failure failure = {};
  dq_engine *engine;
  if (dq_engine_open(&engine, nullptr, &failure)) return fail(failure);
  owner<dq_engine, dq_engine_close> engine_owner(engine);
  dq_model *model;
  if (dq_model_load(&model, engine, "/nowhere", &failure) != DQ_CODE_SYSTEM || !std::strstr(failure.message, "/nowhere"))
    return 2;
  if (dq_model_load(&model, engine, arguments[1], &failure)) return fail(failure);
  owner<dq_model, dq_model_free> model_owner(model);
  dq_dataset *data;
  if (dq_dataset_open(&data, engine, "synth:shapes,size=8,count=4", nullptr, &failure)) return fail(failure);
  owner<dq_dataset, dq_dataset_close> data_owner(data);
  dq_model_int8_facts facts = {};
  facts.size = sizeof facts;
  if (dq_model_int8(model, data, nullptr, &facts, &failure)) return fail(failure);
  dq_network *network;
  if (dq_network_open(&network, model, nullptr, &failure)) return fail(failure);
  owner<dq_network, dq_network_close> network_owner(network);
  dq_array output;
  if (dq_network_run(network, &failure) || !dq_network_output(network, 0, &output)) return fail(failure);
  return facts.quantized > 0 && output.type == 1 && output.bytes > 0 ? 0 : 3;
}

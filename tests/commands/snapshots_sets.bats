# Recorded outputs are the same with other instruction sets and numbers of threads. Plain C takes long: it has a part of
# the transcripts.
load common

@test "plain C, 3 threads" {
  for name in amp run operators attributes int8_networks int8_operators; do shows $name --cpu-mask c --threads 3; done
}

@test "AVX2, 1 thread" {
  for name in report amp tucker run operators data int8_networks int8_methods int8_options int8_operators int8_tables \
    cc train pages; do
    shows $name --cpu-mask avx2 --threads 1
  done
}

@test "AVX-512, 2 threads" {
  for name in report amp run operators attributes data int8_operators; do shows $name --cpu-mask avx512 --threads 2; done
}

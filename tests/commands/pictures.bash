# pictures COUNT: pictures of 8x8 with labels 0 to 3 in a list, list.txt
pictures() {
  local i bytes
  for ((i = 0; i < $1; i++)); do
    printf 'P6\n8 8\n255\n' >"p$i.ppm"
    bytes=$(printf "$((i * i + 7)) picture $i\n%.0s" {1..20})
    printf '%s' "${bytes:0:192}" >>"p$i.ppm"
    echo "p$i.ppm $((i % 4))"
  done >list.txt
}

# The demonstration: the commands and the report on a small classifier and generated pictures.
.PHONY: demo
demo: deps ## compresses datasets/shapes.onnx in four ways and tells what each costs
	$(MAKE) -j$(shell nproc) all
	sh cmd/demo.sh $(B)

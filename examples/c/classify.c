/* Runs a program on an input of ones, and prints the elements of its first output. */
#include <rushlight.h>
#include <stdio.h>
#include <stdlib.h>

static int report(const char* what, rushlight_status status) {
  fprintf(stderr, "%s: %s: %s\n", what, rushlight_status_name(status), rushlight_last_error());
  return 1;
}

static int run(rushlight_method* method, const rushlight_value_info* info, float* elements) {
  rushlight_value input, output;
  rushlight_status status;
  size_t i;
  for (i = 0; i < info->nbytes / sizeof(float); ++i) elements[i] = 1.0f;
  status = rushlight_tensor(&input, RUSHLIGHT_FLOAT32, (size_t)info->rank, info->sizes, elements);
  if (status == RUSHLIGHT_OK) status = rushlight_method_run(method, &input, 1);
  if (status == RUSHLIGHT_OK) status = rushlight_method_output(method, 0, &output);
  if (status != RUSHLIGHT_OK) return report("forward", status);
  for (i = 0; i < output.nbytes / sizeof(float); ++i) printf("%.9g\n", ((const float*)output.data)[i]);
  return 0;
}

int main(int argc, char** argv) {
  rushlight_program* program = NULL;
  rushlight_method* method = NULL;
  rushlight_value_info info = {.struct_size = sizeof info};
  rushlight_status status;
  float* elements;
  int failed;
  if (argc != 2) {
    fprintf(stderr, "usage: %s model.pte\n", argv[0]);
    return 2;
  }
  status = rushlight_program_load(argv[1], &program);
  if (status == RUSHLIGHT_OK) status = rushlight_program_input_info(program, "forward", 0, &info);
  if (status == RUSHLIGHT_OK) status = rushlight_method_load(program, "forward", NULL, &method);
  rushlight_program_free(program); /* the method still holds a reference */
  if (status != RUSHLIGHT_OK) return report(argv[1], status);

  elements = malloc(info.nbytes);
  failed = elements ? run(method, &info, elements) : 1;
  free(elements);
  rushlight_method_free(method);
  return failed;
}

/* The C API of the runtime, for C99, C++ and languages that call C.
 *
 * A program is a .pte file; any number of threads may use it at the same time. A method is loaded from a program,
 * has its own memory, and runs on one thread at a time; several methods may run at the same time.
 *
 * Every function that can fail returns a rushlight_status. rushlight_last_error() then returns the reason. The
 * caller owns the objects that the functions create, and frees each object with the function of its type that ends
 * in `_free`. These functions accept null. A method keeps its program alive, so programs and methods may be freed in
 * any order.
 *
 * Libraries with the same RUSHLIGHT_API_VERSION have the same functions, structs and enumeration values. A struct
 * that may get more members begins with its own size, which the caller sets: `rushlight_method_options options =
 * {.struct_size = sizeof options};`. */
#ifndef RUSHLIGHT_H
#define RUSHLIGHT_H

#include <stddef.h>
#include <stdint.h>

#if defined(RUSHLIGHT_BUILD_DLL)
#define RUSHLIGHT_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define RUSHLIGHT_API __attribute__((visibility("default")))
#else
#define RUSHLIGHT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The underlying type of the enumerations: it makes every unsigned int a valid value in C++, as in C. */
#ifdef __cplusplus
#define RUSHLIGHT_ENUM_TYPE : unsigned int
#else
#define RUSHLIGHT_ENUM_TYPE
#endif

#define RUSHLIGHT_API_VERSION 1

/* The largest number of dimensions of a tensor. */
#define RUSHLIGHT_MAX_RANK 16

/* The result of a function. The numbers are equal to the error codes of the ExecuTorch runtime. ExecuTorch has no
 * RUSHLIGHT_CANCELLED. */
typedef enum rushlight_status RUSHLIGHT_ENUM_TYPE {
  RUSHLIGHT_OK = 0x00,
  RUSHLIGHT_INTERNAL = 0x01,
  RUSHLIGHT_INVALID_STATE = 0x02,
  RUSHLIGHT_END_OF_METHOD = 0x03,
  RUSHLIGHT_NOT_SUPPORTED = 0x10,
  RUSHLIGHT_NOT_IMPLEMENTED = 0x11,
  RUSHLIGHT_INVALID_ARGUMENT = 0x12,
  RUSHLIGHT_INVALID_TYPE = 0x13,
  RUSHLIGHT_OPERATOR_MISSING = 0x14,
  RUSHLIGHT_NOT_FOUND = 0x20,
  RUSHLIGHT_MEMORY_ALLOCATION_FAILED = 0x21,
  RUSHLIGHT_ACCESS_FAILED = 0x22,
  RUSHLIGHT_INVALID_PROGRAM = 0x23,
  RUSHLIGHT_INVALID_EXTERNAL_DATA = 0x24,
  RUSHLIGHT_OUT_OF_RESOURCES = 0x25,
  RUSHLIGHT_DELEGATE_INVALID_COMPATIBILITY = 0x30,
  RUSHLIGHT_DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31,
  RUSHLIGHT_DELEGATE_INVALID_HANDLE = 0x32,
  RUSHLIGHT_CANCELLED = 0x100
} rushlight_status;

/* The dtype of a tensor. The numbers are equal to torch's dtype numbers and to the file format. */
typedef enum rushlight_dtype RUSHLIGHT_ENUM_TYPE {
  RUSHLIGHT_UINT8 = 0,
  RUSHLIGHT_INT8 = 1,
  RUSHLIGHT_INT16 = 2,
  RUSHLIGHT_INT32 = 3,
  RUSHLIGHT_INT64 = 4,
  RUSHLIGHT_FLOAT16 = 5,
  RUSHLIGHT_FLOAT32 = 6,
  RUSHLIGHT_FLOAT64 = 7,
  RUSHLIGHT_COMPLEX32 = 8,
  RUSHLIGHT_COMPLEX64 = 9,
  RUSHLIGHT_COMPLEX128 = 10,
  RUSHLIGHT_BOOL = 11,
  RUSHLIGHT_BFLOAT16 = 15,
  RUSHLIGHT_UINT16 = 27,
  RUSHLIGHT_UINT32 = 28,
  RUSHLIGHT_UINT64 = 29
} rushlight_dtype;

/* The kind of a value. OTHER is a list, which this API does not read. */
typedef enum rushlight_kind RUSHLIGHT_ENUM_TYPE {
  RUSHLIGHT_NONE = 0,
  RUSHLIGHT_TENSOR = 1,
  RUSHLIGHT_INTEGER = 2,
  RUSHLIGHT_REAL = 3,
  RUSHLIGHT_BOOLEAN = 4,
  RUSHLIGHT_STRING = 5,
  RUSHLIGHT_OTHER = 6
} rushlight_kind;

/* An input or output of a method. Members that the kind does not use are 0. */
typedef struct rushlight_value {
  int32_t kind;  /* rushlight_kind */
  int32_t dtype; /* rushlight_dtype of a tensor */
  int32_t rank;  /* number of dimensions of a tensor */
  int32_t sizes[RUSHLIGHT_MAX_RANK];
  uint8_t dim_order[RUSHLIGHT_MAX_RANK]; /* dimensions from outermost to innermost; all 0 means 0, 1, 2, ... */
  void* data;                            /* elements of a dense tensor, or characters of a string */
  size_t nbytes;                         /* bytes at `data` */
  int64_t integer;                       /* INTEGER, and BOOLEAN as 0 or 1 */
  double real;                           /* REAL */
} rushlight_value;

/* Whether the sizes of a tensor are fixed, have upper bounds, or have no bounds. The rank is always fixed. */
typedef enum rushlight_dynamism RUSHLIGHT_ENUM_TYPE {
  RUSHLIGHT_STATIC = 0,
  RUSHLIGHT_DYNAMIC_BOUND = 1,
  RUSHLIGHT_DYNAMIC_UNBOUND = 2
} rushlight_dynamism;

/* The description of an input or output in the program. */
typedef struct rushlight_value_info {
  size_t struct_size; /* set by the caller */
  int32_t kind;
  int32_t dtype;
  int32_t rank;
  int32_t dynamism; /* rushlight_dynamism; unless STATIC, `sizes` are upper bounds */
  int32_t sizes[RUSHLIGHT_MAX_RANK];
  uint8_t dim_order[RUSHLIGHT_MAX_RANK];
  size_t nbytes; /* bytes of a tensor with `sizes` */
} rushlight_value_info;

/* The description of a method in the program. */
typedef struct rushlight_method_info {
  size_t struct_size; /* set by the caller */
  size_t inputs;
  size_t outputs;
  size_t instructions;
  size_t planned_bytes; /* memory for activations */
  size_t delegates;     /* parts that run on backends */
} rushlight_method_info;

typedef struct rushlight_program rushlight_program;
typedef struct rushlight_method rushlight_method;
typedef struct rushlight_thread_pool rushlight_thread_pool;

/* ---- The library ---- */

/* Returns RUSHLIGHT_API_VERSION of the library, which may differ from the version of this header. */
RUSHLIGHT_API uint32_t rushlight_api_version(void);
/* Returns the version of the library, for example "0.1.0". */
RUSHLIGHT_API const char* rushlight_version(void);
/* Returns the name of a status, for example "InvalidProgram". */
RUSHLIGHT_API const char* rushlight_status_name(rushlight_status status);
/* Returns the message of the last error on the calling thread, or "". The text is valid until the next error. */
RUSHLIGHT_API const char* rushlight_last_error(void);
/* Returns the bytes of one element of a dtype, or 0 for an unknown dtype. */
RUSHLIGHT_API size_t rushlight_dtype_size(rushlight_dtype dtype);

/* Functions of the system. `level` is the importance of a log message: 0 debug, 1 info, 2 warning, 3 error. */
typedef struct rushlight_platform {
  size_t struct_size;                              /* set by the caller */
  uint64_t (*now_ns)(void);                        /* a monotonic clock, in nanoseconds */
  void (*log)(int32_t level, const char* message); /* gets the warnings of the runtime */
  void* (*allocate)(size_t size,
                    size_t alignment); /* memory of programs and methods; the alignment is a power of two */
  void (*release)(void* memory);       /* frees what allocate() returned */
  void (*panic)(const char* message);  /* ends the program after an error that no caller can handle */
  /* starts a thread that calls run(context); returns null if no thread can be started */
  void* (*thread_start)(void (*run)(void* context), void* context);
  void (*thread_join)(void* thread); /* waits for the end of a thread that thread_start() returned */
} rushlight_platform;

/* Replaces functions of the system; null members keep the default. `allocate` and `release` must be set together,
 * and so must `thread_start` and `thread_join`. All members may be called from several threads at the same time.
 * Call this function before any other function. */
RUSHLIGHT_API rushlight_status rushlight_set_platform(const rushlight_platform* platform);

/* Loads a shared library of custom kernels or backends, for methods that are loaded afterwards. */
RUSHLIGHT_API rushlight_status rushlight_load_library(const char* path);

/* ---- Threads ---- */

/* Creates a pool of `threads` threads, the calling one included. It must outlive the methods that use it. */
RUSHLIGHT_API rushlight_status rushlight_thread_pool_new(size_t threads, rushlight_thread_pool** pool);
/* Creates a pool that uses the caller's own threads. `run(user, count, task, context)` calls task(context, i) for
 * every i below `count`, on any threads, and returns when all calls have returned. */
RUSHLIGHT_API rushlight_status rushlight_thread_pool_custom(
    size_t threads, void (*run)(void* user, size_t count, void (*task)(void* context, size_t index), void* context),
    void* user, rushlight_thread_pool** pool);
RUSHLIGHT_API void rushlight_thread_pool_free(rushlight_thread_pool* pool);

/* ---- Programs ---- */

/* Loads a program from a file, which is mapped into memory where the system can do so. */
RUSHLIGHT_API rushlight_status rushlight_program_load(const char* path, rushlight_program** program);
/* Loads a program from a file that is read into memory; the file may change afterwards. */
RUSHLIGHT_API rushlight_status rushlight_program_read(const char* path, rushlight_program** program);
/* Loads a program from `size` bytes at `data`. The bytes must stay valid until the library calls `release(context)`,
 * once, also if there is an error. If `release` is null, the bytes must outlive the program and its methods. Bytes that
 * are not aligned to 64 (x86-64) or 16 are copied. */
RUSHLIGHT_API rushlight_status rushlight_program_load_buffer(const void* data, size_t size,
                                                             void (*release)(void* context), void* context,
                                                             rushlight_program** program);
/* Compares the bytes of the file with the SHA-256 digest in the program. Returns RUSHLIGHT_INVALID_PROGRAM if they
 * differ or if the program has no digest. */
RUSHLIGHT_API rushlight_status rushlight_program_verify_digest(const rushlight_program* program);
RUSHLIGHT_API void rushlight_program_free(rushlight_program* program);

/* The methods of a program. A name is valid as long as the program; it is null if `index` is too large. */
RUSHLIGHT_API size_t rushlight_program_method_count(const rushlight_program* program);
RUSHLIGHT_API const char* rushlight_program_method_name(const rushlight_program* program, size_t index);

/* Describe a method, its inputs and its outputs. The method does not have to be loaded. */
RUSHLIGHT_API rushlight_status rushlight_program_method_info(const rushlight_program* program, const char* method,
                                                             rushlight_method_info* info);
RUSHLIGHT_API rushlight_status rushlight_program_input_info(const rushlight_program* program, const char* method,
                                                            size_t index, rushlight_value_info* info);
RUSHLIGHT_API rushlight_status rushlight_program_output_info(const rushlight_program* program, const char* method,
                                                             size_t index, rushlight_value_info* info);

/* Returns the backend of a delegate of a method, or null if the method does not exist or `index` is too large. The name
 * is valid as long as the program. A backend may occur several times. */
RUSHLIGHT_API const char* rushlight_program_backend_name(const rushlight_program* program, const char* method,
                                                         size_t index);

/* ---- Methods ---- */

typedef struct rushlight_method_options {
  size_t struct_size;             /* set by the caller */
  rushlight_thread_pool* threads; /* null: the pool of the process, with one thread for each physical core */
  const char* const* data_paths;  /* .ptd files with weights outside of the program */
  size_t data_path_count;
  uint64_t max_instructions; /* of one execution; 0: 2^30 */
  size_t max_memory;         /* bytes of planned memory, structures, workspaces, scratch and outputs; 0: no limit */
} rushlight_method_options;

/* Loads a method. `options` may be null. The message of an error names all operators and backends that are missing. */
RUSHLIGHT_API rushlight_status rushlight_method_load(const rushlight_program* program, const char* name,
                                                     const rushlight_method_options* options,
                                                     rushlight_method** method);
RUSHLIGHT_API void rushlight_method_free(rushlight_method* method);

/* Makes `value` a dense tensor over the caller's elements at `data`. */
RUSHLIGHT_API rushlight_status rushlight_tensor(rushlight_value* value, rushlight_dtype dtype, size_t rank,
                                                const int32_t* sizes, void* data);

/* Sets one input. The kind, dtype, rank, order of dimensions and every size are checked. The elements of a tensor
 * are copied, or rushlight_method_execute() reads them in place: they must stay valid until
 * rushlight_method_execute() returns. */
RUSHLIGHT_API rushlight_status rushlight_method_set_input(rushlight_method* method, size_t index,
                                                          const rushlight_value* value);
/* Executes the method with the inputs that were set. Returns RUSHLIGHT_INVALID_ARGUMENT if an input was never set. */
RUSHLIGHT_API rushlight_status rushlight_method_execute(rushlight_method* method);
/* Stops a call of rushlight_method_execute() that runs on another thread, before its next instruction. The call then
 * returns RUSHLIGHT_CANCELLED. A call that has not started yet is not affected. Any thread, and a signal handler,
 * may call this function. */
RUSHLIGHT_API void rushlight_method_cancel(rushlight_method* method);
/* Sets the mutable buffers of the method back to their contents after loading. Buffers that several methods share
 * change for all of these methods. No call of the method may be running. */
RUSHLIGHT_API rushlight_status rushlight_method_reset_state(rushlight_method* method);
/* Sets all inputs and executes the method. Inputs may be outputs of the last run, which are copied before they are
 * overwritten. */
RUSHLIGHT_API rushlight_status rushlight_method_run(rushlight_method* method, const rushlight_value* inputs,
                                                    size_t count);
/* Gets an output. Its data are in the memory of the method. They are valid until the method is executed again or
 * freed. */
RUSHLIGHT_API rushlight_status rushlight_method_output(const rushlight_method* method, size_t index,
                                                       rushlight_value* value);
/* Gets a tensor of the method's state by its fully qualified name, such as "cache.keys". */
RUSHLIGHT_API rushlight_status rushlight_method_attribute(const rushlight_method* method, const char* name,
                                                          rushlight_value* value);

#ifdef __cplusplus
}
#endif

#endif /* RUSHLIGHT_H */

// The native methods of org.rushlight.Module, over the C API. Java flattens values into arrays of longs and buffers
// (Values.java has the layout), so this code calls Java methods only to throw exceptions.
#include <jni.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "rushlight.h"

namespace {

// The longs of one value: kind, dtype, rank, bytes, the integer or the bits of the real number, then the sizes.
constexpr jsize kKind = 0, kDtype = 1, kRank = 2, kBytes = 3, kNumber = 4, kSizes = 5;
constexpr jsize kValueLongs = kSizes + RUSHLIGHT_MAX_RANK;
constexpr size_t kAlignment = 64;  // of a program that is copied

struct MethodDeleter {
  void operator()(rushlight_method* method) const { rushlight_method_free(method); }
};

// The native state of a Java Module. The Java side allows one thread at a time.
struct Peer {
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    methods.clear();
    rushlight_program_free(program);
    rushlight_thread_pool_free(threads);
  }
  rushlight_program* program = nullptr;
  rushlight_thread_pool* threads = nullptr;  // null: the pool of the process
  std::map<std::string, std::unique_ptr<rushlight_method, MethodDeleter>> methods;
};

Peer* peer_of(jlong handle) { return reinterpret_cast<Peer*>(handle); }

jclass g_exception = nullptr;  // global reference
jmethodID g_make_exception = nullptr;

jbyteArray bytes_of(JNIEnv* env, const char* text, size_t size) {
  const jbyteArray bytes = env->NewByteArray(static_cast<jsize>(size));
  if (bytes) env->SetByteArrayRegion(bytes, 0, static_cast<jsize>(size), reinterpret_cast<const jbyte*>(text));
  return bytes;
}

// Throws an exception with a status and its message. Text is passed as UTF-8 bytes, because JNI strings use modified
// UTF-8.
void raise(JNIEnv* env, rushlight_status status, const std::string& message) {
  const jbyteArray text = bytes_of(env, message.data(), message.size());
  if (!text) return;  // an OutOfMemoryError is pending
  const jobject exception = env->CallStaticObjectMethod(g_exception, g_make_exception, static_cast<jint>(status), text);
  if (!env->ExceptionCheck()) env->Throw(static_cast<jthrowable>(exception));
}

// Throws an exception if a status is an error. Returns whether the status is Ok.
bool check(JNIEnv* env, rushlight_status status) {
  if (status == RUSHLIGHT_OK) return true;
  raise(env, status, rushlight_last_error());
  return false;
}

// Returns a text from UTF-8 bytes, which do not contain NUL.
std::string text_of(JNIEnv* env, jbyteArray bytes) {
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()), reinterpret_cast<jbyte*>(text.data()));
  return text;
}

// Passes the peer to Java, or frees the peer if its program was not loaded.
jlong finish(JNIEnv* env, std::unique_ptr<Peer> peer, rushlight_status status) {
  return check(env, status) ? reinterpret_cast<jlong>(peer.release()) : 0;
}

// Makes a peer with its own thread pool, or with the pool of the process if `threads` is 0. Returns null if an
// exception is pending.
std::unique_ptr<Peer> make_peer(JNIEnv* env, jint threads) {
  std::unique_ptr<Peer> peer(new (std::nothrow) Peer);
  if (!peer) {
    raise(env, RUSHLIGHT_MEMORY_ALLOCATION_FAILED, "no memory for a module");
    return nullptr;
  }
  if (threads > 0 && !check(env, rushlight_thread_pool_new(static_cast<size_t>(threads), &peer->threads))) {
    return nullptr;
  }
  return peer;
}

// Returns a method; loads it at its first use. Returns null if an exception is pending.
rushlight_method* find_method(JNIEnv* env, Peer& peer, jbyteArray name) {
  const std::string text = text_of(env, name);
  const auto found = peer.methods.find(text);
  if (found != peer.methods.end()) return found->second.get();
  rushlight_method_options options = {};
  options.struct_size = sizeof options;
  options.threads = peer.threads;
  rushlight_method* method = nullptr;
  if (!check(env, rushlight_method_load(peer.program, text.c_str(), &options, &method))) return nullptr;
  peer.methods[text].reset(method);
  return method;
}

rushlight_value read_value(JNIEnv* env, const jlong* longs, jobject buffer) {
  rushlight_value value = {};
  value.kind = static_cast<int32_t>(longs[kKind]);
  value.dtype = static_cast<int32_t>(longs[kDtype]);
  value.rank = static_cast<int32_t>(longs[kRank]);
  for (int32_t i = 0; i < value.rank && i < RUSHLIGHT_MAX_RANK; ++i) {
    value.sizes[i] = static_cast<int32_t>(longs[kSizes + i]);
  }
  value.integer = longs[kNumber];
  if (value.kind == RUSHLIGHT_REAL) std::memcpy(&value.real, &longs[kNumber], sizeof value.real);
  if (buffer) {
    value.data = env->GetDirectBufferAddress(buffer);
    value.nbytes = static_cast<size_t>(longs[kBytes]);
  }
  return value;
}

void write_value(const rushlight_value& value, jlong* longs) {
  longs[kKind] = value.kind;
  longs[kDtype] = value.dtype;
  longs[kRank] = value.rank;
  longs[kBytes] = static_cast<jlong>(value.nbytes);
  longs[kNumber] = value.integer;
  if (value.kind == RUSHLIGHT_REAL) std::memcpy(&longs[kNumber], &value.real, sizeof value.real);
  for (int32_t i = 0; i < value.rank; ++i) longs[kSizes + i] = value.sizes[i];
}

// Copies the elements of a dense tensor in row-major order.
void copy_row_major(const rushlight_value& value, char* to) {
  const size_t element = rushlight_dtype_size(static_cast<rushlight_dtype>(value.dtype));
  bool is_row_major = true;
  size_t strides[RUSHLIGHT_MAX_RANK];  // bytes
  size_t stride = element;
  for (int32_t i = value.rank; i-- > 0;) {
    is_row_major = is_row_major && value.dim_order[i] == i;
    strides[value.dim_order[i]] = stride;
    stride *= static_cast<size_t>(value.sizes[value.dim_order[i]]);
  }
  const auto* from = static_cast<const char*>(value.data);
  if (is_row_major) {
    if (value.nbytes > 0) std::memcpy(to, from, value.nbytes);
    return;
  }
  int32_t at[RUSHLIGHT_MAX_RANK] = {};
  size_t offset = 0;
  for (size_t done = 0; done < value.nbytes; done += element) {
    std::memcpy(to + done, from + offset, element);
    for (int32_t i = value.rank; i-- > 0;) {
      offset += strides[i];
      if (++at[i] < value.sizes[i]) break;
      offset -= strides[i] * static_cast<size_t>(value.sizes[i]);
      at[i] = 0;
    }
  }
}

}  // namespace

extern "C" {

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  const jclass local = env->FindClass("org/rushlight/RushlightRuntimeException");
  if (!local) return JNI_ERR;
  g_exception = static_cast<jclass>(env->NewGlobalRef(local));
  env->DeleteLocalRef(local);
  if (!g_exception) return JNI_ERR;
  g_make_exception = env->GetStaticMethodID(g_exception, "fromNative", "(I[B)Ljava/lang/RuntimeException;");
  return g_make_exception ? JNI_VERSION_1_6 : JNI_ERR;
}

JNIEXPORT void JNICALL JNI_OnUnload(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) == JNI_OK) env->DeleteGlobalRef(g_exception);
}

JNIEXPORT jlong JNICALL Java_org_rushlight_Module_loadFile(JNIEnv* env, jclass, jbyteArray path, jboolean is_mapped,
                                                           jint threads) {
  auto peer = make_peer(env, threads);
  if (!peer) return 0;
  const std::string name = text_of(env, path);
  const rushlight_status status = is_mapped ? rushlight_program_load(name.c_str(), &peer->program)
                                            : rushlight_program_read(name.c_str(), &peer->program);
  return finish(env, std::move(peer), status);
}

// The bytes of a direct buffer are used in place: Java keeps the buffer until the peer is freed.
JNIEXPORT jlong JNICALL Java_org_rushlight_Module_loadBuffer(JNIEnv* env, jclass, jobject buffer, jlong offset,
                                                             jlong size, jint threads) {
  auto peer = make_peer(env, threads);
  if (!peer) return 0;
  const char* data = static_cast<const char*>(env->GetDirectBufferAddress(buffer)) + offset;
  const rushlight_status status =
      rushlight_program_load_buffer(data, static_cast<size_t>(size), nullptr, nullptr, &peer->program);
  return finish(env, std::move(peer), status);
}

JNIEXPORT jlong JNICALL Java_org_rushlight_Module_loadBytes(JNIEnv* env, jclass, jbyteArray bytes, jint threads) {
  auto peer = make_peer(env, threads);
  if (!peer) return 0;
  const auto size = static_cast<size_t>(env->GetArrayLength(bytes));
  void* copy = nullptr;
  if (posix_memalign(&copy, kAlignment, size + 1) != 0) {
    raise(env, RUSHLIGHT_MEMORY_ALLOCATION_FAILED, "no memory for a program of " + std::to_string(size) + " bytes");
    return 0;
  }
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(size), static_cast<jbyte*>(copy));
  const rushlight_status status = rushlight_program_load_buffer(copy, size, std::free, copy, &peer->program);
  return finish(env, std::move(peer), status);
}

JNIEXPORT void JNICALL Java_org_rushlight_Module_free(JNIEnv*, jclass, jlong handle) { delete peer_of(handle); }

JNIEXPORT jint JNICALL Java_org_rushlight_Module_methodCount(JNIEnv*, jclass, jlong handle) {
  return static_cast<jint>(rushlight_program_method_count(peer_of(handle)->program));
}

JNIEXPORT jbyteArray JNICALL Java_org_rushlight_Module_methodName(JNIEnv* env, jclass, jlong handle, jint index) {
  const char* name = rushlight_program_method_name(peer_of(handle)->program, static_cast<size_t>(index));
  return name ? bytes_of(env, name, std::strlen(name)) : nullptr;
}

JNIEXPORT jbyteArray JNICALL Java_org_rushlight_Module_backendName(JNIEnv* env, jclass, jlong handle, jbyteArray method,
                                                                   jint index) {
  const char* name = rushlight_program_backend_name(peer_of(handle)->program, text_of(env, method).c_str(),
                                                    static_cast<size_t>(index));
  return name ? bytes_of(env, name, std::strlen(name)) : nullptr;
}

// Returns the kinds of the inputs, or of the outputs.
JNIEXPORT jintArray JNICALL Java_org_rushlight_Module_kinds(JNIEnv* env, jclass, jlong handle, jbyteArray method,
                                                            jboolean of_inputs) {
  const rushlight_program* program = peer_of(handle)->program;
  const std::string name = text_of(env, method);
  rushlight_method_info info = {};
  info.struct_size = sizeof info;
  if (!check(env, rushlight_program_method_info(program, name.c_str(), &info))) return nullptr;
  std::vector<jint> kinds(of_inputs ? info.inputs : info.outputs);
  for (size_t i = 0; i < kinds.size(); ++i) {
    rushlight_value_info value = {};
    value.struct_size = sizeof value;
    const auto describe = of_inputs ? rushlight_program_input_info : rushlight_program_output_info;
    if (!check(env, describe(program, name.c_str(), i, &value))) return nullptr;
    kinds[i] = value.kind;
  }
  const jintArray result = env->NewIntArray(static_cast<jsize>(kinds.size()));
  if (result) env->SetIntArrayRegion(result, 0, static_cast<jsize>(kinds.size()), kinds.data());
  return result;
}

JNIEXPORT void JNICALL Java_org_rushlight_Module_loadMethod(JNIEnv* env, jclass, jlong handle, jbyteArray name) {
  find_method(env, *peer_of(handle), name);
}

// Runs a method. Returns the longs of its outputs; copyOutput() fetches their bytes.
JNIEXPORT jlongArray JNICALL Java_org_rushlight_Module_run(JNIEnv* env, jclass, jlong handle, jbyteArray name,
                                                           jlongArray inputs, jobjectArray buffers) {
  Peer& peer = *peer_of(handle);
  rushlight_method* method = find_method(env, peer, name);
  if (!method) return nullptr;
  std::vector<jlong> longs(static_cast<size_t>(env->GetArrayLength(inputs)));
  env->GetLongArrayRegion(inputs, 0, static_cast<jsize>(longs.size()), longs.data());
  std::vector<rushlight_value> values(longs.size() / kValueLongs);
  for (size_t i = 0; i < values.size(); ++i) {
    const jobject buffer = env->GetObjectArrayElement(buffers, static_cast<jsize>(i));
    values[i] = read_value(env, &longs[i * kValueLongs], buffer);
    if (buffer) env->DeleteLocalRef(buffer);
  }
  if (!check(env, rushlight_method_run(method, values.data(), values.size()))) return nullptr;
  rushlight_method_info info = {};
  info.struct_size = sizeof info;
  if (!check(env, rushlight_program_method_info(peer.program, text_of(env, name).c_str(), &info))) return nullptr;
  longs.assign(info.outputs * kValueLongs, 0);
  for (size_t i = 0; i < info.outputs; ++i) {
    rushlight_value value;
    if (!check(env, rushlight_method_output(method, i, &value))) return nullptr;
    write_value(value, &longs[i * kValueLongs]);
  }
  const jlongArray result = env->NewLongArray(static_cast<jsize>(longs.size()));
  if (result) env->SetLongArrayRegion(result, 0, static_cast<jsize>(longs.size()), longs.data());
  return result;
}

// Copies the elements or characters of an output into a direct buffer of the same size.
JNIEXPORT void JNICALL Java_org_rushlight_Module_copyOutput(JNIEnv* env, jclass, jlong handle, jbyteArray name,
                                                            jint index, jobject buffer) {
  rushlight_method* method = find_method(env, *peer_of(handle), name);
  if (!method) return;
  rushlight_value value;
  if (!check(env, rushlight_method_output(method, static_cast<size_t>(index), &value))) return;
  if (value.nbytes == 0) return;
  auto* to = static_cast<char*>(env->GetDirectBufferAddress(buffer));
  if (value.kind == RUSHLIGHT_TENSOR) {
    copy_row_major(value, to);
  } else {
    std::memcpy(to, value.data, value.nbytes);
  }
}

}  // extern "C"

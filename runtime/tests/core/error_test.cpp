#include "rushlight/core/error.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "rushlight/core/kernel_context.h"
#include "rushlight/core/result.h"

namespace rushlight {
namespace {

TEST(Error, KeepsTheLastMessageOfEachThread) {
  EXPECT_EQ(fail(Error::NotFound, "no %s of %d", "thing", 3), Error::NotFound);
  EXPECT_STREQ(last_error_message(), "no thing of 3");
  std::string other;
  std::thread([&] {
    other = last_error_message();
    fail(Error::Internal, "elsewhere");
  }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(last_error_message(), "no thing of 3");
  clear_last_error_message();
  EXPECT_STREQ(last_error_message(), "");
}

TEST(Error, MayQuoteTheMessageThatItReplaces) {
  fail(Error::NotFound, "inner");
  fail(Error::NotFound, "outer: %s", last_error_message());
  EXPECT_STREQ(last_error_message(), "outer: inner");
}

TEST(Error, CutsLongMessages) {
  fail(Error::Internal, "%s", std::string(2000, 'x').c_str());
  EXPECT_EQ(std::string(last_error_message()), std::string(511, 'x'));
}

TEST(Error, HasNames) {
  EXPECT_STREQ(to_string(Error::Ok), "Ok");
  EXPECT_STREQ(to_string(Error::DelegateInvalidHandle), "DelegateInvalidHandle");
  EXPECT_STREQ(to_string(Error::Cancelled), "Cancelled");
  EXPECT_STREQ(to_string(static_cast<Error>(0x7777)), "unknown error");
}

Result<int> half(int number) {
  RL_REQUIRE(number % 2 == 0, InvalidArgument, "%d is odd", number);
  return number / 2;
}

Result<int> quarter(int number) {
  RL_ASSIGN(const int first, half(number));
  RL_ASSIGN(const int second, half(first));
  return second;
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(*quarter(12), 3);
  const auto wrong = quarter(6);
  EXPECT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error(), Error::InvalidArgument);
  EXPECT_STREQ(last_error_message(), "3 is odd");
  EXPECT_EQ(Result<int>(Error::Ok).error(), Error::Internal) << "an error that is none is a mistake";
}

TEST(KernelContext, RecordsAFailure) {
  KernelRuntimeContext context(nullptr, nullptr);
  EXPECT_FALSE(context.failed());
  context.fail(Error::InvalidArgument, "%d", 5);
  EXPECT_EQ(context.failure(), Error::InvalidArgument);
  EXPECT_STREQ(last_error_message(), "5");
  context.clear();
  EXPECT_EQ(context.allocate_temporary(16), nullptr);
  EXPECT_EQ(context.failure(), Error::MemoryAllocationFailed);
  EXPECT_STREQ(last_error_message(),
               "a kernel needs 16 bytes of scratch memory, but the temporary allocator is missing");
  EXPECT_EQ(context.allocate_temporary_array<int64_t>(SIZE_MAX / 4), nullptr);
}

}  // namespace
}  // namespace rushlight

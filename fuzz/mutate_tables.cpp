#include <algorithm>
#include <cstring>

#include "mutate.h"

namespace rushlight::fuzz {
namespace {

using flatbuffer::Bounds;
using flatbuffer::Field;
using flatbuffer::Kind;
using flatbuffer::load;
using flatbuffer::Schema;
using flatbuffer::TableInfo;

constexpr size_t kMaxSites = 20000;
constexpr size_t kMaxElements = 24;     // elements of one vector of numbers that become sites
constexpr size_t kMaxGrowth = 1 << 16;  // maximum growth in bytes of one change

void store(Bytes& bytes, size_t at, uint64_t value, size_t size) { std::memcpy(bytes.data() + at, &value, size); }

uint64_t number_at(const Bytes& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

// A place that can be changed. `at` is the position of a number, an offset, the count of a vector or string, or a
// vtable entry.
struct Site {
  enum class Role : uint8_t { Number, Tag, Offset, Vector, String, Entry };
  Role role;
  uint8_t tag;  // of the union, if the role is Offset and the field is a union's value
  uint16_t table, field;
  uint32_t at;
  int32_t next;  // previous site of the same table, field and role, or -1
};

constexpr size_t kRoles = 6, kMaxFields = 64;

size_t key_of(uint16_t table, uint16_t field, Site::Role role) {
  return (size_t{table} * kMaxFields + std::min<size_t>(field, kMaxFields - 1)) * kRoles + static_cast<size_t>(role);
}

class Tables {
 public:
  Tables(const Schema& schema, Bytes& bytes, Random& random) : schema_(schema), bytes_(bytes), random_(random) {}

  bool change() {
    size_t root;
    if (bytes_.size() < 8 || !follow(0, &root)) return false;
    visit(schema_.root, root, schema_.depth);
    if (used_.empty()) return false;
    // All fields of all tables have the same probability, no matter how many objects have them.
    const std::vector<Site> group = sites_of(used_[random_.below(used_.size())]);
    change(group[random_.below(group.size())], group);
    return true;
  }

 private:
  bool inside(size_t at, uint64_t size) const { return at <= bytes_.size() && size <= bytes_.size() - at; }
  bool follow(size_t at, size_t* target) const {
    if (!inside(at, 4)) return false;
    *target = at + load<uint32_t>(bytes_.data() + at);
    return inside(*target, 4);
  }
  const Field& field_of(const Site& site) const { return schema_.tables[site.table].fields[site.field]; }

  void add(Site::Role role, uint16_t table, uint16_t field, size_t at, uint8_t tag = 0) {
    if (sites_.size() == kMaxSites) return;
    const size_t key = key_of(table, field, role);
    if (key >= last_.size()) last_.resize(key + 1, -1);
    if (last_[key] < 0) used_.push_back(key);
    sites_.push_back({role, tag, table, field, static_cast<uint32_t>(at), last_[key]});
    last_[key] = static_cast<int32_t>(sites_.size() - 1);
  }

  std::vector<Site> sites_of(size_t key) const {
    std::vector<Site> found;
    for (int32_t i = key < last_.size() ? last_[key] : -1; i >= 0; i = sites_[static_cast<size_t>(i)].next) {
      found.push_back(sites_[static_cast<size_t>(i)]);
    }
    return found;
  }

  // Calls take(field index, position) for each field of the table at `at`.
  template <class F>
  void for_each_field(const TableInfo& info, size_t at, F&& take) const {
    const int64_t vtable = static_cast<int64_t>(at) - load<int32_t>(bytes_.data() + at);
    if (vtable < 0 || !inside(static_cast<size_t>(vtable), 4)) return;
    const size_t entries = static_cast<size_t>(vtable), size = load<uint16_t>(bytes_.data() + entries);
    if (!inside(entries, size)) return;
    for (uint16_t i = 0; i < info.num_fields && 6 + 2 * size_t{i} <= size; ++i) {
      const size_t entry = entries + 4 + 2 * size_t{i}, offset = load<uint16_t>(bytes_.data() + entry);
      if (offset != 0 && inside(at + offset, info.fields[i].kind >= Kind::Scalars ? 4 : info.fields[i].size)) {
        take(i, at + offset, entry);
      }
    }
  }

  void visit(uint16_t index, size_t at, unsigned depth) {
    if (depth == 0 || sites_.size() == kMaxSites) return;
    const TableInfo& info = schema_.tables[index];
    uint8_t tag = 0;
    for_each_field(info, at, [&](uint16_t i, size_t place, size_t entry) {
      const Field& field = info.fields[i];
      add(Site::Role::Entry, index, i, entry);
      if (field.kind == Kind::Scalar || field.kind == Kind::Bool) return add(Site::Role::Number, index, i, place);
      if (field.kind == Kind::UnionTag) {
        tag = bytes_[place];
        return add(Site::Role::Tag, index, i, place);
      }
      size_t target;
      if (!follow(place, &target)) return;
      add(Site::Role::Offset, index, i, place, tag);
      if (field.kind == Kind::String) return add(Site::Role::String, index, i, target);
      if (field.kind == Kind::Table) return visit(field.target, target, depth - 1);
      if (field.kind == Kind::Union) {
        if (tag >= 1 && tag <= schema_.unions[field.target].num_members) {
          visit(schema_.unions[field.target].members[tag - 1], target, depth - 1);
        }
        return;
      }
      visit_vector(index, i, target, depth);
    });
  }

  void visit_vector(uint16_t index, uint16_t i, size_t at, unsigned depth) {
    const Field& field = schema_.tables[index].fields[i];
    add(Site::Role::Vector, index, i, at);
    const size_t count = load<uint32_t>(bytes_.data() + at);
    if (!inside(at + 4, uint64_t{count} * field.size)) return;
    if (field.kind == Kind::Scalars || field.kind == Kind::Bools) {
      for (size_t j = 0; j < std::min(count, kMaxElements); ++j) {
        const size_t element = count <= kMaxElements ? j : random_.below(count);
        add(Site::Role::Number, index, i, at + 4 + element * field.size);
      }
      return;
    }
    for (size_t j = 0; j < count; ++j) {
      size_t target;
      if (!follow(at + 4 + 4 * j, &target)) continue;
      add(Site::Role::Offset, index, i, at + 4 + 4 * j);
      if (field.kind == Kind::Tables) visit(field.target, target, depth - 1);
      if (field.kind == Kind::Strings) add(Site::Role::String, index, i, target);
    }
  }

  void change(const Site& site, const std::vector<Site>& group) {
    const Site& other = group[random_.below(group.size())];
    switch (site.role) {
      case Site::Role::Number:
        return change_number(site, other, group);
      case Site::Role::Tag:
        bytes_[site.at] = static_cast<uint8_t>(random_.below(schema_.unions[field_of(site).target].num_members + 1));
        return;
      case Site::Role::Offset:
        return change_offset(site, other);
      case Site::Role::Vector:
        return change_vector(site);
      case Site::Role::String:
        return change_string(site);
      case Site::Role::Entry:  // a removed field has its default, in all tables with this vtable
        if (random_.one_in(3)) store(bytes_, site.at, 0, 2);
        return;
    }
  }

  const Bounds* bounds_of(const Site& site) const {
    const TableInfo& info = schema_.tables[site.table];
    for (uint16_t i = 0; i < info.num_bounds; ++i) {
      if (info.bounds[i].field == site.field) return &info.bounds[i];
    }
    return nullptr;
  }

  void change_number(const Site& site, const Site& other, const std::vector<Site>& group) {
    const Field& field = field_of(site);
    const size_t size = field.size;
    const uint64_t old = number_at(bytes_, site.at, size);
    uint64_t changed = mutate_number(old, size, random_);
    const Bounds* const bounds = bounds_of(site);
    if (field.kind == Kind::Bool || field.kind == Kind::Bools) {
      changed = random_.one_in(16) ? changed : old ^ 1;
    } else if (random_.one_in(3)) {
      changed = number_at(bytes_, other.at, size);
      if (random_.one_in(2)) store(bytes_, other.at, old, size);
    } else if (bounds != nullptr && !random_.one_in(8)) {
      const uint64_t range = static_cast<uint64_t>(bounds->high) - static_cast<uint64_t>(bounds->low);
      changed = static_cast<uint64_t>(bounds->low) + (range < 64 ? random_.below(range + 1) : changed % (range + 1));
      if (random_.one_in(16)) changed = random_.one_in(2) ? static_cast<uint64_t>(bounds->low) : bounds->high;
    }
    store(bytes_, site.at, changed, size);
    if (!random_.one_in(5)) return;
    for (const Site& same : group) {  // the same change in all objects, as if another model had been compiled
      if (number_at(bytes_, same.at, size) == old) store(bytes_, same.at, changed, size);
    }
  }

  // Sets an offset to the target of another field of the same kind.
  void change_offset(const Site& site, const Site& other) {
    size_t mine, target;
    if (!follow(other.at, &target) || !follow(site.at, &mine)) return;
    if (random_.one_in(2) && mine > other.at) store(bytes_, other.at, mine - other.at, 4);
    if (random_.one_in(4) || target <= site.at) {  // offsets must point forward
      if (!copy(field_of(site), other.tag, target, &target)) return;
    }
    store(bytes_, site.at, target - site.at, 4);
  }

  void change_vector(const Site& site) {
    const Field& field = field_of(site);
    const size_t count = load<uint32_t>(bytes_.data() + site.at);
    if (!inside(site.at + 4, uint64_t{count} * field.size)) return;
    const size_t first = site.at + 4;
    switch (random_.below(8)) {
      case 0:
        return store(bytes_, site.at, random_.one_in(3) ? 0 : random_.below(count + 1), 4);
      case 1:
        return store(bytes_, site.at, count == 0 ? 0 : count - 1, 4);
      case 2:
        return store(bytes_, site.at, mutate_number(count, 4, random_), 4);
      case 3:
      case 4:
        return grow_vector(site, 1 + random_.below(3));
      default:
        break;
    }
    if (count < 2) return;
    const size_t a = first + random_.below(count) * field.size, b = first + random_.below(count) * field.size;
    const bool offsets = field.kind == Kind::Tables || field.kind == Kind::Strings;
    if (!offsets) {
      if (random_.one_in(4)) std::memcpy(bytes_.data() + a, bytes_.data() + b, field.size);
      std::swap_ranges(bytes_.begin() + static_cast<ptrdiff_t>(a),
                       bytes_.begin() + static_cast<ptrdiff_t>(a + field.size),
                       bytes_.begin() + static_cast<ptrdiff_t>(b));
      return;
    }
    size_t at_a, at_b;
    if (a == b || !follow(a, &at_a) || !follow(b, &at_b) || at_b <= a) return;
    store(bytes_, a, at_b - a, 4);
    if (at_a > b && !random_.one_in(4)) store(bytes_, b, at_a - b, 4);
  }

  // Replaces a vector by a longer copy, in all fields that refer to the vector.
  void grow_vector(const Site& site, size_t more) {
    size_t target;
    const size_t count = load<uint32_t>(bytes_.data() + site.at);
    if (!copy_vector(field_of(site), site.at, count == 0 ? 0 : random_.below(count), more, &target)) return;
    for (const Site& offset : sites_of(key_of(site.table, site.field, Site::Role::Offset))) {
      if (offset.at + load<uint32_t>(bytes_.data() + offset.at) == site.at) {
        store(bytes_, offset.at, target - offset.at, 4);
      }
    }
  }

  void change_string(const Site& site) {
    const size_t length = load<uint32_t>(bytes_.data() + site.at);
    if (length == 0 || !inside(site.at + 4, uint64_t{length} + 1)) return;
    const size_t at = random_.below(length);
    if (random_.one_in(3)) {
      store(bytes_, site.at, at, 4);
      bytes_[site.at + 4 + at] = 0;
    } else {
      bytes_[site.at + 4 + at] = static_cast<uint8_t>(random_.one_in(4) ? random_.next() : ' ' + random_.below(95));
    }
  }

  // Appends zeros until the end is `phase` modulo 8, and then `size` bytes, if the growth stays within its limit.
  bool append(size_t size, size_t phase, size_t* at) {
    const size_t begin = bytes_.size() + (phase + 8 - bytes_.size() % 8) % 8;
    if (size > kMaxGrowth || begin + size > first_size_ + kMaxGrowth) return false;
    bytes_.resize(begin + size);
    *at = begin;
    return true;
  }

  bool copy(const Field& field, uint8_t tag, size_t from, size_t* to) {
    if (!inside(from, 4)) return false;
    switch (field.kind) {
      case Kind::String:
      case Kind::Strings:
        return copy_string(from, to);
      case Kind::Table:
      case Kind::Tables:
        return copy_table(field.target, from, to);
      case Kind::Union:
        return tag >= 1 && tag <= schema_.unions[field.target].num_members &&
               copy_table(schema_.unions[field.target].members[tag - 1], from, to);
      default:
        return copy_vector(field, from, 0, 0, to);
    }
  }

  bool copy_string(size_t from, size_t* to) {
    const size_t length = load<uint32_t>(bytes_.data() + from);
    if (!inside(from + 4, uint64_t{length} + 1) || !append(length + 5, 0, to)) return false;
    std::memcpy(bytes_.data() + *to, bytes_.data() + from, length + 5);
    return true;
  }

  // Copies a vector and appends element `repeated` `more` times. Numbers are 0 if the vector is empty.
  bool copy_vector(const Field& field, size_t from, size_t repeated, size_t more, size_t* to) {
    const size_t count = load<uint32_t>(bytes_.data() + from), size = field.size;
    if (!inside(from + 4, uint64_t{count} * size)) return false;
    const bool offsets = field.kind == Kind::Tables || field.kind == Kind::Strings;
    if (count == 0 && offsets) more = 0;
    if (!append(4 + (count + more) * size, 4, to)) return false;  // elements are aligned to 8
    store(bytes_, *to, count + more, 4);
    if (!offsets) std::memcpy(bytes_.data() + *to + 4, bytes_.data() + from + 4, count * size);
    for (size_t i = offsets ? 0 : count; i < count + more; ++i) {
      const size_t source = from + 4 + (i < count ? i : repeated) * size, element = *to + 4 + i * size;
      if (!offsets) {
        if (count > 0) std::memcpy(bytes_.data() + element, bytes_.data() + source, size);
        continue;
      }
      size_t target, copied;
      if (!follow(source, &target) || !copy(field, 0, target, &copied)) return false;
      store(bytes_, element, copied - element, 4);
    }
    return true;
  }

  bool copy_table(uint16_t index, size_t from, size_t* to) {
    const int64_t vtable = static_cast<int64_t>(from) - load<int32_t>(bytes_.data() + from);
    if (vtable < 0 || !inside(static_cast<size_t>(vtable), 4)) return false;
    const size_t entries = static_cast<size_t>(vtable);
    const size_t entries_size = load<uint16_t>(bytes_.data() + entries);
    const size_t size = load<uint16_t>(bytes_.data() + entries + 2);
    size_t entries_to;
    if (size < 4 || !inside(entries, entries_size) || !inside(from, size)) return false;
    if (!append(entries_size, 0, &entries_to) || !append(size, from % 8, to)) return false;
    std::memcpy(bytes_.data() + entries_to, bytes_.data() + entries, entries_size);
    std::memcpy(bytes_.data() + *to, bytes_.data() + from, size);
    store(bytes_, *to, *to - entries_to, 4);
    bool copied = true;
    uint8_t tag = 0;
    for_each_field(schema_.tables[index], from, [&](uint16_t i, size_t place, size_t) {
      const Field& field = schema_.tables[index].fields[i];
      if (field.kind == Kind::UnionTag) tag = bytes_[place];
      if (field.kind == Kind::Scalar || field.kind == Kind::Bool || field.kind == Kind::UnionTag) return;
      size_t target, child;
      const size_t at = *to + (place - from);
      if (place - from + 4 <= size && follow(place, &target) && copy(field, tag, target, &child)) {
        store(bytes_, at, child - at, 4);
      } else {
        copied = false;
      }
    });
    return copied;
  }

  const Schema& schema_;
  Bytes& bytes_;
  Random& random_;
  const size_t first_size_ = bytes_.size();
  std::vector<Site> sites_;
  std::vector<int32_t> last_;  // [keys], the latest site, or -1
  std::vector<size_t> used_;   // keys that have sites
};

}  // namespace

uint64_t mutate_number(uint64_t old, size_t size, Random& random) {
  const size_t bits = 8 * size;
  switch (random.below(12)) {
    case 0:
    case 1:
      return old + 1 + random.below(4);
    case 2:
    case 3:
      return old - 1 - random.below(4);
    case 4:
      return random.below(3);
    case 5:
      return random.below(40);
    case 6:
      return old * (1 + random.below(16));
    case 7:
      return (uint64_t{1} << random.below(bits)) - random.below(3);
    case 8:
      return ~uint64_t{0} - random.below(3);
    case 9: {  // as a float: infinities, NaN, zero, limits
      static constexpr uint64_t doubles[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                             0x8000000000000000, 0x7fefffffffffffff, 0x43e0000000000000,
                                             0x3ff0000000000000, 0xbff0000000000000};
      static constexpr uint32_t floats[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x80000000,
                                            0x7f7fffff, 0x5f000000, 0x3f800000, 0xbf800000};
      return size == 8 ? doubles[random.below(8)] : floats[random.below(8)];
    }
    case 10:
      return old ^ uint64_t{1} << random.below(bits);
    default:
      return random.next();
  }
}

bool mutate_tables(const Schema& schema, Bytes& tables, Random& random) {
  return Tables(schema, tables, random).change();
}

}  // namespace rushlight::fuzz

/* The yardstick as a library: serves its legs on demand, in the thread that measures it. */
#define main conference_main
#include "../yardstick/conference.c"
#undef main

static struct leg *all;
static int members, room_size_, epoll_;

int floor_open(int count, int room_size, int first_port) {
  fill_tables();
  all = calloc(count, sizeof *all);
  members = count;
  room_size_ = room_size;
  epoll_ = epoll_create1(0);
  for (int i = 0; i < count; i++)
    if (open_leg(&all[i], first_port + 8 * i) || watch(epoll_, all[i].socket, i)) return -1;
  return 0;
}

/* Receives what has arrived, then mixes the rooms of a slot. */
void floor_slot(int slot) {
  struct epoll_event ready[READY];
  for (int found; (found = epoll_wait(epoll_, ready, READY, 0)) > 0;)
    for (int k = 0; k < found; k++) receive(&all[ready[k].data.u64]);
  for (int room = slot; room * room_size_ < members; room += SLOTS) {
    int first = room * room_size_;
    mix(&all[first], first + room_size_ < members ? room_size_ : members - first);
  }
}

void floor_close(void) {
  for (int i = 0; i < members; i++) close(all[i].socket);
  close(epoll_);
  free(all);
}

/* A yardstick: the minimum that a program must do for conferences. The engine's cost is stated as a ratio to it.
 *
 * One UDP socket per leg. A received packet is decoded from mu-law into the leg's frame and replaces the one before. Every 20 ms each
 * room is summed once; each leg gets the sum without itself, clamped, encoded and sent. Rooms are spread over four slots of
 * 5 ms. No signalling, no jitter buffer, no RTCP, no concealment, no check of who sends.
 *
 *   cc -O3 -march=native -o conference conference.c
 *   ./conference LEGS ROOM_SIZE FIRST_PORT       leg i receives on FIRST_PORT + 2 i of 127.0.0.1
 *
 * Prints "ready" and runs until its standard input is closed. Its CPU is read by who started it. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { FRAME = 160, RTP_HEADER = 12, SLOTS = 4, SLOT_NS = 5000000, READY = 512 };
enum { TIMER = -1, INPUT = -2 };

struct leg {
  int socket;
  int spoke;
  uint16_t sequence;
  uint32_t timestamp;
  struct sockaddr_in far;
  int16_t said[FRAME];
};

static int16_t linear_of[256];
static uint8_t code_of[65536];

/* G.711 table 2: eight segments, each twice as steep as the one before; the bias makes them start at powers of two. */
static void fill_tables(void) {
  for (int code = 0; code < 256; code++) {
    int inverted = code ^ 0xff, segment = inverted >> 4 & 7, step = inverted & 15;
    int level = ((2 * step + 33) << segment) - 33;
    linear_of[code] = (int16_t)(4 * (inverted & 0x80 ? -level : level));
  }
  for (int value = -32768; value < 32768; value++) {
    int level = abs(value) / 4 + 33, segment = 7;
    if (level > 8191) level = 8191;
    while (segment > 0 && level < 32 << segment) segment--;
    code_of[(uint16_t)value] = (uint8_t)~((value < 0) << 7 | segment << 4 | (level >> (segment + 1) & 15));
  }
}

static int watch(int poll, int fd, int32_t what) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint32_t)what};
  return epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

static int open_leg(struct leg *leg, int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  leg->socket = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  return leg->socket < 0 ? -1 : bind(leg->socket, (struct sockaddr *)&at, sizeof at);
}

static void receive(struct leg *leg) {
  uint8_t packet[1500];
  struct sockaddr_in from;
  socklen_t length = sizeof from;
  if (recvfrom(leg->socket, packet, sizeof packet, 0, (struct sockaddr *)&from, &length) != RTP_HEADER + FRAME) return;
  leg->far = from;
  leg->spoke = 1;
  for (int i = 0; i < FRAME; i++) leg->said[i] = linear_of[packet[RTP_HEADER + i]];
}

static void send_to(struct leg *leg, const int32_t *sum) {
  uint8_t packet[RTP_HEADER + FRAME] = {0x80, 0, leg->sequence >> 8, leg->sequence};
  uint32_t timestamp = htonl(leg->timestamp);
  memcpy(packet + 4, &timestamp, sizeof timestamp);
  memcpy(packet + 8, &leg->socket, sizeof leg->socket);
  for (int i = 0; i < FRAME; i++) {
    int32_t value = sum[i] - (leg->spoke ? leg->said[i] : 0);
    packet[RTP_HEADER + i] = code_of[(uint16_t)(value > 32767 ? 32767 : value < -32768 ? -32768 : value)];
  }
  leg->sequence++;
  leg->timestamp += FRAME;
  if (leg->far.sin_port) sendto(leg->socket, packet, sizeof packet, 0, (struct sockaddr *)&leg->far, sizeof leg->far);
}

static void mix(struct leg *legs, int count) {
  int32_t sum[FRAME] = {0};
  for (int k = 0; k < count; k++)
    if (legs[k].spoke)
      for (int i = 0; i < FRAME; i++) sum[i] += legs[k].said[i];
  for (int k = 0; k < count; k++) send_to(&legs[k], sum);
  for (int k = 0; k < count; k++) legs[k].spoke = 0;
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "conference LEGS ROOM_SIZE FIRST_PORT\n"), 2;
  int count = atoi(argv[1]), room_size = atoi(argv[2]), first_port = atoi(argv[3]);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){65536, 65536});
  fill_tables();
  struct leg *legs = calloc(count, sizeof *legs);
  int poll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  for (int i = 0; i < count; i++)
    if (open_leg(&legs[i], first_port + 2 * i) || watch(poll, legs[i].socket, i)) return perror("conference"), 1;
  timerfd_settime(timer, 0, &(struct itimerspec){{0, SLOT_NS}, {0, SLOT_NS}}, NULL);
  watch(poll, timer, TIMER);
  watch(poll, STDIN_FILENO, INPUT);
  printf("ready\n");
  fflush(stdout);
  for (uint64_t slot = 0;;) {
    struct epoll_event ready[READY];
    int found = epoll_wait(poll, ready, READY, -1);
    uint64_t passed = 0;
    for (int k = 0; k < found; k++) {
      int32_t what = (int32_t)ready[k].data.u64;
      if (what == INPUT) return 0;
      if (what != TIMER) receive(&legs[what]);
      else if (read(timer, &passed, sizeof passed) != sizeof passed) passed = 0;
    }
    for (; passed > 0; passed--, slot++)
      for (int room = slot % SLOTS; room * room_size < count; room += SLOTS) {
        int first = room * room_size;
        mix(&legs[first], first + room_size < count ? room_size : count - first);
      }
  }
}

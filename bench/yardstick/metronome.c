/* A metronome: how late this machine wakes a thread that only sleeps. That tells lateness of the machine from lateness of the product.
 *
 * It sleeps until each multiple of 5 ms of a monotonic clock, with a higher real-time priority (SCHED_RR) than all threads of the product where the system
 * allows it, and counts how often it was late.
 *
 *   cc -O3 -o metronome metronome.c
 *   ./metronome
 *
 * Prints "ready", runs until its standard input is closed, then prints: ticks, those more than 2 ms late, those more than 5 ms late, 1 if it was a
 * real-time thread. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TICK_NS = 5000000, BEHIND_NS = 2000000, LATE_NS = 5000000, PRIORITY = 40, TICKS_PER_LOOK = 20 };

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_until(long long ns) {
  struct timespec t = {ns / 1000000000LL, ns % 1000000000LL};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) {
  }
}

static int is_over(void) {
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  char byte;
  return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

int main(void) {
  struct sched_param parameters = {.sched_priority = PRIORITY};
  int is_real_time = sched_setscheduler(0, SCHED_RR, &parameters) == 0;
  long ticks = 0, behind = 0, late = 0;
  puts("ready");
  fflush(stdout);
  for (long long due = now() + TICK_NS; ticks % TICKS_PER_LOOK != 0 || !is_over(); due += TICK_NS, ticks++) {
    sleep_until(due);
    long long lateness = now() - due;
    behind += lateness > BEHIND_NS;
    late += lateness > LATE_NS;
  }
  printf("%ld %ld %ld %d\n", ticks, behind, late, is_real_time);
  return 0;
}

/* Places calls at a given rate, whatever becomes of earlier ones: INVITE, answer, a second of audio both ways, BYE.
 *
 * Real calls come from other machines. This program shares the cores with the product, so the less CPU it takes, the truer the result. Each call
 * has a pair of sockets for RTP and RTCP as a phone has, sends 50 packets per second, and receives all that arrive. Requests are retransmitted
 * as RFC 3261 §17.1 says for UDP; no 100rel, no authentication, no Record-Route.
 *
 *   cc -O3 -march=native -o rush rush.c -lm
 *   ./rush HOST PORT USER       listens on ports from 40000 on
 *
 * Prints "ready". Each line "RATE SECONDS" of standard input starts a run, whose result is printed as a line of JSON. Ends at the end of input. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 3000, FIRST_PORT = 40000, LAST_PORT = 49999, FRAME = 160, RTP_HEADER = 12, TURNS = 4, BATCH = 256, PROBLEMS = 5 };
/* [ms] */
#define TURN 5.0
#define TALK 1000.0
#define PATIENCE 5000.0
#define TAIL 10000.0
#define T1 500.0
#define T2 4000.0
#define BIN 0.05
enum { BINS = 40000 };

enum state { FREE, INVITING, PROCEEDING, TALKING, ENDING };

struct call {
  enum state state;
  int rtp, rtcp, port;
  unsigned serial;
  double started, due, again, wait, answered, heard; /* heard < 0: nothing yet */
  struct sockaddr_in far;
  uint16_t sequence;
  uint32_t timestamp;
  char to[256], contact[256];
};

struct histogram {
  unsigned bins[BINS], count;
  double max;
};

static struct call calls[CALLS];
static int unused[CALLS], unused_first, unused_count;
static struct histogram set_up, heard;
static unsigned begun, whole, refused, failed, open_calls, serial, run_id;
static char problems[PROBLEMS][160];
static unsigned problem_count;
static int sip_socket, sip_port, audio;
static struct sockaddr_in target;
static char host[64], user[64];

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static void add(struct histogram *all, double ms) {
  int bin = ms / BIN;
  all->bins[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
  all->count++;
  if (ms > all->max) all->max = ms;
}

/* The upper edge of the bin. */
static double percentile(const struct histogram *all, double share) {
  unsigned wanted = ceil(share * all->count), seen = 0;
  for (int bin = 0; bin < BINS; bin++)
    if ((seen += all->bins[bin]) >= wanted) return (bin + 1) * BIN < all->max ? (bin + 1) * BIN : all->max;
  return all->max;
}

static void print_percentiles(const char *name, const struct histogram *all) {
  if (all->count == 0) printf("\"%s\":null", name);
  else
    printf("\"%s\":{\"count\":%u,\"p50\":%.2f,\"p95\":%.2f,\"p99\":%.2f,\"max\":%.2f}", name, all->count,
           percentile(all, 0.5), percentile(all, 0.95), percentile(all, 0.99), all->max);
}

static int open_socket(int port, int buffer) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  if (buffer > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static void send_sip(const char *text, int length) {
  sendto(sip_socket, text, length, 0, (struct sockaddr *)&target, sizeof target);
}

static int index_of(const struct call *call) { return call - calls; }

/* Writes the beginning of a request of a call. `to`: the To header's value. */
static int head(const struct call *call, char *text, int size, const char *method, const char *uri, const char *to, int number,
                const char *branch) {
  return snprintf(text, size,
                  "%s %s SIP/2.0\r\n"
                  "Via: SIP/2.0/UDP 127.0.0.1:%d;rport;branch=z9hG4bK%08x%s%06u%06d\r\n"
                  "Max-Forwards: 70\r\n"
                  "From: <sip:rush-%u@127.0.0.1>;tag=%08x%06u\r\n"
                  "To: %s\r\n"
                  "Call-ID: %u-%d-%08x\r\n"
                  "CSeq: %d %s\r\n",
                  method, uri, sip_port, run_id, branch, call->serial, index_of(call), call->serial, run_id, call->serial, to,
                  call->serial, index_of(call), run_id, number, method);
}

static void send_invite(const struct call *call) {
  char text[2048], uri[160], to[200], sdp[512];
  snprintf(uri, sizeof uri, "sip:%s@%s:%d", user, host, ntohs(target.sin_port));
  snprintf(to, sizeof to, "<%s>", uri);
  int length = snprintf(sdp, sizeof sdp,
                        "v=0\r\no=tandem %u 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                        "m=audio %d RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n"
                        "a=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n",
                        call->serial, call->port);
  int at = head(call, text, sizeof text, "INVITE", uri, to, 1, "i");
  at += snprintf(text + at, sizeof text - at,
                 "Contact: <sip:rush-%u@127.0.0.1:%d>\r\n"
                 "Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO, UPDATE, PRACK, REFER, NOTIFY, SUBSCRIBE, MESSAGE\r\n"
                 "Supported: timer, replaces, norefersub, tdialog\r\n"
                 "User-Agent: tandem-bench\r\n"
                 "Content-Type: application/sdp\r\n"
                 "Content-Length: %d\r\n\r\n%s",
                 call->serial, sip_port, length, sdp);
  send_sip(text, at);
}

/* Sends a request without a body. `branch`: for the ACK of a refusal, that of the INVITE. */
static void send_short(const struct call *call, const char *method, const char *uri, const char *to, int number, const char *branch) {
  char text[1400];
  int at = head(call, text, sizeof text, method, uri, to, number, branch);
  at += snprintf(text + at, sizeof text - at, "Content-Length: 0\r\n\r\n");
  send_sip(text, at);
}

static void release(struct call *call) {
  call->state = FREE;
  open_calls--;
  unused[(unused_first + unused_count++) % CALLS] = index_of(call);
}

static void fail(const char *why) {
  failed++;
  if (problem_count < PROBLEMS) snprintf(problems[problem_count++], sizeof problems[0], "%s", why);
}

static void begin(double at) {
  begun++;
  if (unused_count == 0) return fail("the load has no more lines");
  struct call *call = &calls[unused[unused_first]];
  unused_first = (unused_first + 1) % CALLS;
  unused_count--;
  open_calls++;
  call->state = INVITING;
  call->serial = ++serial;
  call->started = at;
  call->wait = T1;
  call->again = at + T1;
  call->due = at + 64 * T1;
  call->heard = -1;
  call->sequence = random();
  call->timestamp = random();
  send_invite(call);
}

static void hang_up(struct call *call, double at) {
  call->state = ENDING;
  call->wait = T1;
  call->again = at + T1;
  call->due = at + 64 * T1;
  send_short(call, "BYE", call->contact, call->to, 2, "b");
}

/* Finds a header by its full name, which the product always writes. Returns the length of its value, or -1. */
static int header(const char *text, const char *name, const char **value) {
  char wanted[32];
  int length = snprintf(wanted, sizeof wanted, "\r\n%s:", name);
  const char *found = strcasestr(text, wanted);
  if (found == NULL) return -1;
  for (found += length; *found == ' '; found++);
  *value = found;
  return strcspn(found, "\r");
}

static int copy(char *to, int size, const char *from, int length) {
  if (length < 0 || length >= size) return -1;
  memcpy(to, from, length);
  to[length] = 0;
  return 0;
}

/* Reads the remote target and the audio address from the 200; -1: it lacks them. */
static int learn(struct call *call, const char *text) {
  const char *value = NULL, *address = strstr(text, "\r\nc=IN IP4 "), *media = strstr(text, "\r\nm=audio ");
  char contact[256], where[64];
  int length = header(text, "To", &value);
  if (copy(call->to, sizeof call->to, value, length) != 0) return -1;
  length = header(text, "Contact", &value);
  if (copy(contact, sizeof contact, value, length) != 0 || address == NULL || media == NULL) return -1;
  char *uri = strchr(contact, '<'), *end = uri == NULL ? NULL : strchr(uri, '>');
  if (end == NULL) return -1;
  *end = 0;
  strcpy(call->contact, uri + 1);
  address += strlen("\r\nc=IN IP4 ");
  if (copy(where, sizeof where, address, strcspn(address, "\r/")) != 0) return -1;
  int port = atoi(media + strlen("\r\nm=audio "));
  call->far = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
  return port > 0 && inet_pton(AF_INET, where, &call->far.sin_addr) == 1 ? 0 : -1;
}

static void on_final(struct call *call, int status, const char *text, double at) {
  const char *value = NULL;
  char to[256], uri[160], problem[160];
  if (status < 300) {
    if (learn(call, text) != 0) return fail("bad answer"), release(call);
    add(&set_up, at - call->started);
    call->state = TALKING;
    call->answered = at;
    call->due = at + TALK;
    return send_short(call, "ACK", call->contact, call->to, 1, "a");
  }
  snprintf(uri, sizeof uri, "sip:%s@%s:%d", user, host, ntohs(target.sin_port));
  int length = header(text, "To", &value);
  if (copy(to, sizeof to, value, length) == 0) send_short(call, "ACK", uri, to, 1, "i");
  snprintf(problem, sizeof problem, "call refused: %.*s", (int)strcspn(text + 8, "\r\n"), text + 8);
  if (status == 503) refused++;
  else fail(problem);
  release(call);
}

static void on_sip(const char *text, double at) {
  const char *value;
  unsigned number, id;
  int slot, sequence;
  if (strncmp(text, "SIP/2.0 ", 8) != 0) return;
  int status = atoi(text + 8);
  if (header(text, "Call-ID", &value) < 0 || sscanf(value, "%u-%d-%x", &number, &slot, &id) != 3) return;
  if (header(text, "CSeq", &value) < 0 || slot < 0 || slot >= CALLS || id != run_id) return;
  sequence = atoi(value);
  struct call *call = &calls[slot];
  if (call->state == FREE || call->serial != number) return;
  if (sequence == 1 && (call->state == INVITING || call->state == PROCEEDING)) {
    if (status >= 200) on_final(call, status, text, at);
    else call->state = PROCEEDING;
  } else if (sequence == 1 && status >= 200 && status < 300) send_short(call, "ACK", call->contact, call->to, 1, "a");
  else if (sequence == 2 && call->state == ENDING && status >= 200) {
    if (call->heard < 0) fail("nothing was heard");
    else {
      add(&heard, call->heard - call->started);
      whole++;
    }
    release(call);
  }
}

static void take_sip(void) {
  static char text[65536];
  for (int length; (length = recv(sip_socket, text, sizeof text - 1, 0)) >= 0;) {
    text[length] = 0;
    on_sip(text, now());
  }
}

static void take_audio(void) {
  struct epoll_event ready[BATCH];
  static char packet[1500];
  int found;
  do {
    found = epoll_wait(audio, ready, BATCH, 0);
    double at = now();
    for (int k = 0; k < found; k++) {
      int isRtcp = ready[k].data.u32 & 1;
      struct call *call = &calls[ready[k].data.u32 >> 1];
      while (recv(isRtcp ? call->rtcp : call->rtp, packet, sizeof packet, 0) > 0)
        if (!isRtcp && call->state != FREE && call->heard < 0) call->heard = at;
    }
  } while (found == BATCH);
}

static void speak(struct call *call) {
  static uint8_t packet[RTP_HEADER + FRAME];
  uint32_t timestamp = htonl(call->timestamp), source = htonl(call->serial);
  packet[0] = 0x80;
  packet[1] = 0;
  packet[2] = call->sequence >> 8;
  packet[3] = call->sequence;
  memcpy(packet + 4, &timestamp, sizeof timestamp);
  memcpy(packet + 8, &source, sizeof source);
  memset(packet + RTP_HEADER, 0xff, FRAME);
  call->sequence++;
  call->timestamp += FRAME;
  sendto(call->rtp, packet, sizeof packet, 0, (struct sockaddr *)&call->far, sizeof call->far);
}

/* Sends the packets of a quarter of all calls, and does whatever is due. */
static void turn(unsigned number, double at) {
  for (int slot = 0; slot < CALLS; slot++) {
    struct call *call = &calls[slot];
    if (call->state == FREE) continue;
    if (call->state == TALKING) {
      if (slot % TURNS == (int)(number % TURNS)) speak(call);
      if (at < call->due) continue;
      if (call->heard < 0 && at - call->answered < PATIENCE) call->due += TALK;
      else hang_up(call, at);
    } else if (at >= call->due) {
      fail(call->state == ENDING ? "no answer to the BYE" : "no answer");
      release(call);
    } else if (call->state != PROCEEDING && at >= call->again) {
      if (call->state == INVITING) send_invite(call);
      else send_short(call, "BYE", call->contact, call->to, 2, "b");
      call->wait = call->state == ENDING && 2 * call->wait > T2 ? T2 : 2 * call->wait;
      call->again = at + call->wait;
    }
  }
  take_audio();
}

static void run(double rate, double seconds) {
  memset(&set_up, 0, sizeof set_up);
  memset(&heard, 0, sizeof heard);
  begun = whole = refused = failed = problem_count = 0;
  double start = now(), end = start + seconds * 1e3, next = start, tick = start;
  unsigned turns = 0;
  struct pollfd wanted = {.fd = sip_socket, .events = POLLIN};
  for (double at = start; at < end || (open_calls > 0 && at < end + TAIL); at = now()) {
    for (; next <= at && next < end; next += -log(1 - drand48()) * 1e3 / rate) begin(now());
    if (tick <= at) {
      turn(turns++, at);
      for (tick += TURN; tick <= at; tick += TURN);
    }
    double until = (next < end && next < tick ? next : tick) - now();
    struct timespec wait = {0, until > 0 ? until * 1e6 : 0};
    if (ppoll(&wanted, 1, &wait, NULL) > 0) take_sip();
  }
  for (int slot = 0; slot < CALLS; slot++)
    if (calls[slot].state != FREE) {
      fail("not over in time");
      release(&calls[slot]);
    }
  printf("{\"rate\":%g,\"begun\":%u,\"whole\":%u,\"refused\":%u,\"failed\":%u,\"problems\":[", rate, begun, whole, refused, failed);
  for (unsigned i = 0; i < problem_count; i++) {
    printf(i > 0 ? ",\"" : "\"");
    for (const char *c = problems[i]; *c; c++) putchar(*c == '"' || *c == '\\' ? '\'' : *c);
    putchar('"');
  }
  printf("],");
  print_percentiles("setUpMs", &set_up);
  printf(",");
  print_percentiles("heardMs", &heard);
  printf("}\n");
  fflush(stdout);
}

static int open_lines(void) {
  int port = FIRST_PORT;
  audio = epoll_create1(0);
  for (int slot = 0; slot < CALLS; port += 2) {
    if (port >= LAST_PORT) return -1;
    struct call *call = &calls[slot];
    call->rtp = open_socket(call->port = port, 0);
    call->rtcp = call->rtp < 0 ? -1 : open_socket(port + 1, 0);
    if (call->rtcp < 0) {
      if (call->rtp >= 0) close(call->rtp);
      continue;
    }
    for (int isRtcp = 0; isRtcp < 2; isRtcp++) {
      struct epoll_event event = {.events = EPOLLIN, .data.u32 = slot << 1 | isRtcp};
      epoll_ctl(audio, EPOLL_CTL_ADD, isRtcp ? call->rtcp : call->rtp, &event);
    }
    unused[unused_count++] = slot++;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4) return fprintf(stderr, "rush HOST PORT USER\n"), 2;
  snprintf(host, sizeof host, "%s", argv[1]);
  snprintf(user, sizeof user, "%s", argv[3]);
  target = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
  if (inet_pton(AF_INET, host, &target.sin_addr) != 1) return fprintf(stderr, "%s is no address\n", host), 2;
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){65536, 65536});
  /* A higher priority than the product where the system allows it, as real phones do not wait for its processes; but below its audio threads. */
  setpriority(PRIO_PROCESS, 0, -7);
  srandom(time(NULL) ^ getpid());
  srand48(random());
  run_id = random();
  struct sockaddr_in own;
  socklen_t size = sizeof own;
  sip_socket = open_socket(0, 4 << 20);
  if (sip_socket < 0 || open_lines() != 0) return fprintf(stderr, "no ports\n"), 1;
  getsockname(sip_socket, (struct sockaddr *)&own, &size);
  sip_port = ntohs(own.sin_port);
  printf("ready\n");
  fflush(stdout);
  double rate, seconds;
  while (scanf("%lf %lf", &rate, &seconds) == 2) run(rate, seconds);
  return 0;
}

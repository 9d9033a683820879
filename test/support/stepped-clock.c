/* Preloaded into a program: its wall clock differs from the machine's by the seconds in the file SVC_TEST_CLOCK_FILE, as soon as they are
   there. Monotonic clocks and timers go on unchanged, as they do when somebody sets a clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *difference;

__attribute__((constructor)) static void open_file(void) {
  const char *name = getenv("SVC_TEST_CLOCK_FILE");
  int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *difference, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) difference = page;
  close(file);
}

static int64_t seconds(void) { return difference == NULL ? 0 : *difference; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real == NULL ? (int)syscall(SYS_clock_gettime, clock, time) : real(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += seconds();
  return result;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  value->tv_sec = now.tv_sec;
  value->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (result != NULL) *result = now.tv_sec;
  return now.tv_sec;
}

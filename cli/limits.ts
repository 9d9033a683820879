/** The longest `--timeout` in seconds: timers of the runtime end at 2^31 - 1 ms. */
export const maxTimeoutSecs = 2_147_483;

/** The longest `--timeout` in seconds: Node's timers are limited to 2^31 - 1 ms. */
export const maxTimeoutSecs = 2_147_483;

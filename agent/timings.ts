/** Durations fixed by the rules, in milliseconds; tests pass shorter ones. */
export interface Timings {
  heartbeatMs: number;
  httpMs: number;
  httpConnectMs: number;
  /** How long a result or a snapshot may take that is on its way: the gateway waits 120 s for a body, and then has to answer. */
  largeBodyMs: number;
  /** Added to `wait_ms` for the whole poll. */
  pollGraceMs: number;
  /** How long after its start a poll may still claim: far longer than the gateway's 250 ms (AG-80). */
  pollClaimsMs: number;
  /** Waits between repetitions of one claim, the last one repeats; and how long it is repeated: the shortest lease (AP-08). */
  claimBackoffMs: readonly number[];
  claimGiveUpMs: number;
  /** Waits between submissions of one result; the last one repeats (AG-50). */
  resultBackoffMs: readonly number[];
  keyRefreshMs: number;
  keyRefreshAtMostEveryMs: number;
  reconnectMs: number;
  /** Between the end of a reload and the next; and how long it tries to connect a new database (AP-19). */
  reloadEveryMs: number;
  reloadConnectMs: number;
  /** How long the checks after connecting may take: a database may accept connections and stay silent. */
  silentMs: number;
  summaryMs: number;
  liveMs: number;
  /** Waits between two sent cancels, until a backend is terminated, until a cancel is given up (AP-42, AP-45). */
  cancelRepeatMs: number;
  cancelTerminateMs: number;
  cancelGiveUpMs: number;
  /** How long a doubtful commit is looked up (AP-37), and how often. */
  commitProbeMs: number;
  commitProbeEveryMs: number;
  fenceRetryMs: number;
  /** How much later than the server's statement timeout the client's own deadline is. */
  deadlineGraceMs: number;
  /** The same for a read on MySQL (AP-30). */
  mysqlReadGraceMs: number;
  stopGraceMs: number;
  /** How long collecting a snapshot may take (AP-61). */
  snapshotMs: number;
  markerCleanupMs: number;
  /** Between two looks at a database where no markers can be written. */
  markerRetryMs: number;
}

export const defaultTimings: Timings = {
  heartbeatMs: 2000,
  httpMs: 30_000,
  httpConnectMs: 10_000,
  largeBodyMs: 150_000,
  pollGraceMs: 10_000,
  pollClaimsMs: 1000,
  claimBackoffMs: [250, 500, 1000, 2000],
  claimGiveUpMs: 60_000,
  resultBackoffMs: [1000, 2000, 4000, 8000, 15_000],
  keyRefreshMs: 600_000,
  keyRefreshAtMostEveryMs: 10_000,
  reconnectMs: 5000,
  reloadEveryMs: 5000,
  reloadConnectMs: 15_000,
  silentMs: 30_000,
  summaryMs: 30_000,
  liveMs: 10_000,
  cancelRepeatMs: 1000,
  cancelTerminateMs: 10_000,
  cancelGiveUpMs: 60_000,
  commitProbeMs: 60_000,
  commitProbeEveryMs: 500,
  fenceRetryMs: 250,
  deadlineGraceMs: 2000,
  mysqlReadGraceMs: 5000,
  stopGraceMs: 10_000,
  snapshotMs: 30_000,
  markerCleanupMs: 86_400_000,
  markerRetryMs: 60_000,
};

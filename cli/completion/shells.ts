/** The shells that `svc completion` supports (CL-46). */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

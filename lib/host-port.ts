/** Whether a text is `host:port` (`[::1]:3000` for IPv6). */
export function isHostPort(text: string): boolean {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(text);
  return match !== null && Number(match[2]) <= 65_535;
}

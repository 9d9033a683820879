/** Below what a block of Slack holds. */
const longest = 1000;

/** The page of a request below `server.public_url`, for people to open; null without one. It holds no sign that ends a link of Slack. */
export function requestUrl(publicUrl: string | null, requestId: string): string | null {
  if (publicUrl === null) return null;
  const link = `${consoleUrl(publicUrl)}requests/${requestId}`;
  return link.length <= longest ? link : null;
}

/** The web console at this address. */
export function consoleUrl(serverUrl: string): string {
  const { origin, pathname } = new URL(serverUrl);
  return `${origin}${pathname.replace(/\/+$/, '').replaceAll('&', '%26').replaceAll('|', '%7C')}/console/`;
}

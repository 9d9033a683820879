/** A page that runs nothing and loads nothing. Both texts go in as they are, so nothing of a caller may be in them unchecked. */
export const plainPage = (title: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 44rem; margin: 4rem auto; padding: 0 1rem; }
  pre { padding: 0.75rem 1rem; border: 1px solid; border-radius: 6px; overflow-x: auto; user-select: all; }
</style>
<h1>${title}</h1>
${body}</html>
`;

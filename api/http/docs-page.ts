import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { noSuchPath } from '../../domain/errors.js';
import { type Reply, text } from './reply.js';

const script = 'text/javascript; charset=utf-8';

/** The page's files. Nothing else is served, and the page loads nothing from elsewhere (HT-98). */
const files: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': script,
};

const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; connect-src 'self'; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'">
<title>Database Change Gateway API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
`;

// Without `validatorUrl: null` the page would fetch a badge from elsewhere.
const start = `window.ui = SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', validatorUrl: null, deepLinking: true });\n`;

/** 404 for any unlisted name. */
export async function docsFile(name: string): Promise<Reply> {
  if (name === 'index.html') return text('text/html; charset=utf-8', html);
  if (name === 'start.js') return text(script, start);
  const contentType = Object.hasOwn(files, name) ? files[name] : undefined;
  if (contentType === undefined) throw noSuchPath();
  return text(contentType, new Uint8Array(await readFile(join(absolutePath(), name))));
}

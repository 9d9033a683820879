import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { allRoutes, defaultTimes, openApiText } from './routes.js';

/** The committed document. Run `npx tsx api/openapi-file.ts` after changing routes. */
export const openApiFile = new URL('../docs/openapi.json', import.meta.url);

/** The text that the file must hold. The routes are described, never called. */
export function currentOpenApiText(): string {
  const unused = () => Promise.reject(new Error('not served here'));
  return openApiText(allRoutes(unused, defaultTimes));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await writeFile(openApiFile, currentOpenApiText());

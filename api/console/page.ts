import type { IncomingMessage } from 'node:http';
import { noSuchPath } from '../../domain/errors.js';
import type { Services } from '../context.js';
import { empty, Reply } from '../http/reply.js';
import { type ConsoleFile, type ConsoleFiles, formOf } from './files.js';

/** What browsers let a page do unless it forbids it, and the console never does. */
const off = `
  accelerometer autoplay bluetooth camera clipboard-read display-capture encrypted-media fullscreen gamepad
  geolocation gyroscope hid idle-detection local-fonts magnetometer microphone midi payment picture-in-picture
  publickey-credentials-create publickey-credentials-get screen-wake-lock serial usb web-share window-management
  xr-spatial-tracking
`;

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Of everything below `/console` (CO-2). */
export const pageHeaders = {
  'Content-Security-Policy': policy.join('; '),
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': off
    .trim()
    .split(/\s+/)
    .map((feature) => `${feature}=()`)
    .join(', '),
};

export function checkOn({ config }: Services): void {
  if (!config().console.enabled) throw noSuchPath();
}

/** The files of the console; null where it was not built. Refuses where it is off. */
export function consoleFiles(services: Services): ConsoleFiles | null {
  checkOn(services);
  return services.consoleFiles;
}

/** The page itself. It shows each of its parts under an address of its own, which a browser asks the server for (CO-1). */
export function pageReply(services: Services, request: IncomingMessage): Reply {
  const files = consoleFiles(services);
  if (files === null) throw noSuchPath();
  return fileReply(files.page, request, 'no-cache');
}

/** The page for a browser that goes to an address below it. A program that asks for a missing file gets a 404. */
export function partReply(services: Services, request: IncomingMessage): Reply {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  if (!isForPeople(request) || /\.\w+$/.test(path)) throw noSuchPath();
  return pageReply(services, request);
}

/** A file that never changes under its name. */
export function assetReply(services: Services, name: string, request: IncomingMessage): Reply {
  const file = consoleFiles(services)?.assets.get(name);
  if (file === undefined) throw noSuchPath();
  return fileReply(file, request, 'public, max-age=31536000, immutable');
}

/** Redirects `/console` to `/console/`. */
export function redirectToSlash(services: Services): Reply {
  if (consoleFiles(services) === null) throw noSuchPath();
  return toConsole();
}

const toConsole = () => empty(302, { Location: '/console/' });

/** Redirects a browser to the console; null for other callers, and without a console. */
export function leadToConsole({ config, consoleFiles: files }: Services, request: IncomingMessage): Reply | null {
  if (files === null || !config().console.enabled || !isForPeople(request)) return null;
  return toConsole();
}

const isForPeople = ({ headers: { accept } }: IncomingMessage) => accept?.includes('text/html') === true;

function fileReply(file: ConsoleFile, { headers }: IncomingMessage, cacheControl: string): Reply {
  const { content, headers: form } = formOf(file, [headers['accept-encoding'] ?? ''].flat().join(','));
  const { contentType } = file;
  return new Reply(200, { kind: 'text', contentType, text: content }, { ...pageHeaders, ...form, 'Cache-Control': cacheControl });
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A site of somebody else: every address of it is an empty page without a policy. */
export interface OtherSite {
  port: number;
  close(): Promise<void>;
}

export async function startOtherSite(): Promise<OtherSite> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>another site</title><body>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, close };
}

/** What an attack got hold of, each as its name and what it read. */
export type Loot = [attack: string, read: string][];

/**
 * Code for a page of another site: it tries to read from the gateway at `target`, and to change the request `id` there, in every way that
 * a browser has for pages. Evaluates to a `Loot`.
 */
export const attacks = (target: string, id: string): string => `(async () => {
  const target = ${JSON.stringify(target)};
  const request = target + '/api/requests/${id}';
  const creation = JSON.stringify({ database: 'shop', environment: 'staging', detail: 'select 666', reason: 'x' });
  const loot = [];
  const waits = (element, ...events) => new Promise((resolve) => {
    for (const event of events) element.addEventListener(event, resolve, { once: true });
    setTimeout(resolve, 2000);
  });
  const attack = async (name, work) => {
    const got = await Promise.resolve().then(work).catch(() => '');
    if (got) loot.push([name, String(got)]);
  };
  const body = document.body;

  for (const mode of ['cors', 'no-cors']) {
    for (const path of ['/api/me', '/api/console/session', '/api/requests', '/api/requests/${id}', '/console/'])
      await attack(mode + ' GET ' + path, async () => (await fetch(target + path, { mode, credentials: 'include' })).text());
    const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', null];
    for (const type of types) {
      const headers = type === null ? {} : { 'content-type': type };
      const post = (url, content) => fetch(url, { method: 'POST', mode, credentials: 'include', headers, body: content });
      await attack(mode + ' ask as ' + type, async () => (await post(target + '/api/requests', creation)).text());
      for (const move of ['approve', 'reject', 'cancel'])
        await attack(mode + ' ' + move + ' as ' + type, async () => (await post(request + '/' + move, '{}')).text());
      await attack(mode + ' sign in as ' + type, async () => (await post(target + '/api/console/session', '{"token":"x"}')).text());
    }
    for (const method of ['DELETE', 'PATCH', 'PUT'])
      await attack(method, async () => (await fetch(target + '/api/console/session', { method, mode, credentials: 'include' })).text());
  }
  navigator.sendBeacon(target + '/api/requests', new Blob([creation], { type: 'text/plain' }));
  navigator.sendBeacon(request + '/reject');

  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    for (const action of [target + '/api/requests', request + '/approve', request + '/reject', target + '/api/console/session']) {
      const frame = Object.assign(document.createElement('iframe'), { name: 'f' + Math.random() });
      const form = Object.assign(document.createElement('form'), { method: 'post', action, enctype, target: frame.name });
      // As text it reads as JSON with one field more.
      const value = creation.replace('{', '').replace('}', '');
      form.append(Object.assign(document.createElement('input'), { name: '{' + value + ',"metadata":"', value: '"}' }));
      body.append(frame, form);
      const loaded = waits(frame, 'load');
      form.submit();
      await loaded;
      await attack('form ' + enctype, () => frame.contentDocument.body.innerText);
    }

  for (const [kind, key] of [['img', 'src'], ['script', 'src'], ['video', 'src'], ['object', 'data'], ['embed', 'src']])
    for (const url of [target + '/api/me', request + '/approve', request + '/reject', target + '/api/requests']) {
      const element = Object.assign(document.createElement(kind), { [key]: url });
      const done = waits(element, 'load', 'error', 'loadedmetadata');
      body.append(element);
      await done;
      element.remove();
    }

  const frame = Object.assign(document.createElement('iframe'), { src: target + '/console/' });
  const framed = waits(frame, 'load');
  body.append(frame);
  await framed;
  await attack('frame', () => frame.contentDocument.body.innerText);
  await attack('frame', () => frame.contentWindow.document.title);

  const opened = open(target + '/console/requests/${id}');
  await new Promise((resolve) => setTimeout(resolve, 3000));
  await attack('opened window', () => opened.document.body.innerText);
  await attack('opened window', () => opened.location.href.startsWith(target) && opened.location.href);
  await attack('frames of the opened window', () => opened.length || '');
  await attack('handle of the opened window', () => !opened.closed && 'open');
  await attack('a message', () => { opened.postMessage('hello', '*'); });

  const events = new EventSource(target + '/api/events', { withCredentials: true });
  events.addEventListener('resync', () => loot.push(['event', 'resync']));
  events.addEventListener('request', ({ data }) => loot.push(['event', data]));
  await waits(events, 'error', 'open');
  await attack('event stream', () => events.readyState === EventSource.OPEN && 'open');
  events.close();

  const socket = new WebSocket(target.replace('http', 'ws') + '/api/events');
  socket.addEventListener('message', ({ data }) => loot.push(['socket', data]));
  await waits(socket, 'close', 'open');
  await attack('socket', () => socket.readyState === WebSocket.OPEN && 'open');
  socket.close();
  return loot;
})()`;

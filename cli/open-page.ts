import { spawn } from 'node:child_process';

/** Shows a page in the browser of this machine. False if there is no program that would; what becomes of the page is not known. */
export function openPage(url: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { detached: true, stdio: 'ignore', env: environment });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

/** Each of them takes the address as one argument, whatever is in it. */
const openers: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Whether the person came by SSH. */
export const isRemote = (environment: Record<string, string | undefined>): boolean =>
  Boolean(environment.SSH_CONNECTION || environment.SSH_TTY);

/** Whether a page that is opened here is likely to be seen (CL-41). */
export function hasBrowser(environment: Record<string, string | undefined>, platform: NodeJS.Platform): boolean {
  if (platform === 'darwin' || platform === 'win32') return !isRemote(environment);
  return Boolean(environment.BROWSER || environment.DISPLAY || environment.WAYLAND_DISPLAY);
}

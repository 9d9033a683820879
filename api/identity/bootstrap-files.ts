import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../crypto/hash.js';
import { readIfThere, renameIfThere, syncFolder, writePrivateFile } from '../../runtime/private-files.js';
import { StartError } from '../../runtime/start-error.js';

/** File names under `state_dir` (IM-56). */
export const tokenFiles = { admin: 'admin-token', requester: 'requester-token', agent: 'agent-token' } as const;
const names = Object.values(tokenFiles);
const listFile = 'bootstrap.json';
const temporary = (name: string) => `${name}.tmp`;

export interface BootstrapFiles {
  /** Writes durable temporary files; call before the commit. */
  prepare(tokens: Record<(typeof names)[number], string>): Promise<void>;
  /** After the commit, or after a crash in between: renames files whose tokens are stored and removes the rest (IM-I10). */
  finish(storedHashes: ReadonlySet<string>): Promise<void>;
  /** Stops the start if a listed file is gone (IM-57). */
  check(): Promise<void>;
}

export function bootstrapFiles(stateDir: string): BootstrapFiles {
  const path = (name: string) => join(stateDir, name);
  return {
    prepare: async (tokens) => {
      for (const name of names) await writePrivateFile(path(temporary(name)), tokens[name]);
      await writePrivateFile(path(temporary(listFile)), `${JSON.stringify({ files: names })}\n`);
      await syncFolder(stateDir);
    },
    finish: async (storedHashes) => {
      const belongs = async (name: string) => {
        const token = await readIfThere(path(name));
        return token !== null && storedHashes.has(sha256Hex(token));
      };
      for (const name of names) {
        if (await belongs(temporary(name))) await renameIfThere(path(temporary(name)), path(name));
        else await rm(path(temporary(name)), { force: true });
      }
      const complete = (await Promise.all(names.map(belongs))).every(Boolean);
      if (complete) await renameIfThere(path(temporary(listFile)), path(listFile));
      else await rm(path(temporary(listFile)), { force: true });
      await syncFolder(stateDir);
    },
    check: async () => {
      const list = await readIfThere(path(listFile));
      if (list === null) return;
      for (const name of listedNames(list, path(listFile))) {
        if ((await readIfThere(path(name))) !== null) continue;
        throw new StartError(
          `${path(name)} is missing but listed in ${path(listFile)}: put it back, start with --force-bootstrap to make new tokens, or remove the list and all token files`,
        );
      }
    },
  };
}

function listedNames(text: string, path: string): string[] {
  try {
    const { files } = JSON.parse(text) as { files: unknown };
    if (Array.isArray(files)) return files.filter((name) => names.includes(name));
  } catch {
    // Reported below, like a list of another form.
  }
  throw new StartError(`${path} is not a list of token files; remove it together with the token files`);
}

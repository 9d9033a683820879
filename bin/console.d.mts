export function currentConsole(): Promise<string>;

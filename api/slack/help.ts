import type { CommandHandler } from './call.js';

const usage = ['/svc execute – ask for SQL to be run', '/svc join – ask for an account', '/svc help – this text'].join('\n');

export const help: CommandHandler = async () => usage;

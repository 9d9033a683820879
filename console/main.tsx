import { render } from 'preact';
import { App } from './app.js';
import './state/appearance.js';
import { follow } from './state/live.js';
import { begin } from './state/session.js';
import { keepTitle } from './state/title.js';

const againMs = 3000;

/** A server that is away is asked again until it answers. */
const untilKnown = (): Promise<void> =>
  begin().catch(() => new Promise((resolve) => setTimeout(() => resolve(untilKnown()), againMs)));

keepTitle();
follow();
render(<App />, document.getElementById('page')!);
void untilKnown();

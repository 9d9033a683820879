import type { Schema } from '../../http/client.js';

export interface Shown {
  request: Schema['Request'];
  executions: Schema['Execution'][];
}

/** Resources that only `server.toml` changes. Every write to their lists and items is 405 `config.read_only` (HT-96, CF-70). */
export const readOnlyPaths: readonly string[] = [
  '/api/roles',
  '/api/roles/:name',
  ...['workflows', 'execution-policies', 'sql-review-policies', 'result-policies', 'notification-policies', 'webhooks'].flatMap(
    (name) => [`/api/${name}`, `/api/${name}/:id`],
  ),
];

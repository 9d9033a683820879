/** SQL for a stored grant: the JSON in `parameter` plus the current instant. */
export const granted = (parameter: string) =>
  `(${parameter}::jsonb || jsonb_build_object('at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))`;

/** SQL for the memberships of `users u` with the users behind each, as `StoredUser` of the domain has them. */
export const memberships = `coalesce((select jsonb_agg(jsonb_build_object('group', g.group_name, 'origins', g.granted_by->'origins') order by g.group_name)
    from group_members g where g.user_id = u.id), '[]')`;

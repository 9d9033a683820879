/** The tested version of the Temporal CLI, and of the server inside it. */
export const temporalVersion = { cli: '1.8.2', server: '1.31.2' };

/** Version of the Temporal CLI, and of the server inside it, that this gateway was tried with. */
export const temporalVersion = { cli: '1.8.2', server: '1.31.2' };

/** The version of both programs; a test holds it equal to that of package.json. */
export const version = '0.1.0';

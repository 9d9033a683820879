/** What to say of a database address that is none. Passwords that a program has made often hold what ends an address too early. */
export const unreadableUrl =
  'cannot be read as an address; in a name or password / is written as %2F, ? as %3F, # as %23, % as %25';

/** Whether proofs run in full (`npm run proofs`). Otherwise a small share of their rounds shows that they still hold. */
export const isFull = process.env.SVC_TEST_PROOFS === 'full';

export const share = <Amount>(small: Amount, full: Amount): Amount => (isFull ? full : small);

export const withCommas = (number: number): string => number.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');

export const countOf = (number: number, thing: string): string => `${number} ${thing}${number === 1 ? '' : 's'}`;

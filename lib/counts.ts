export const withCommas = (number: number): string => number.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');

/** How many of `max` places one user may take: a tenth, or ten if that is more. Whoever takes places in a loop would otherwise lock everybody else out. */
export const shareOf = (max: number) => Math.max(10, Math.ceil(max / 10));

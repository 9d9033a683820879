export function takeLock(file: string): { release: () => void; holder?: undefined } | { holder: number; release?: undefined };
export function holderOf(file: string): number | null;

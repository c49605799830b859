// A limit on what happens at the same time.

/** Runs at most `free` tasks at the same time, in the order in which they came. */
export class Turns {
    /** Functions that start the tasks that wait. */
    private readonly waiting = new Set<() => void>();

    constructor(private free: number) {}

    async take<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        signal?.throwIfAborted();
        await this.turn(signal);
        try {
            return await task();
        } finally {
            const [next] = this.waiting;
            if (next) next();
            else this.free++;
        }
    }

    private turn(signal?: AbortSignal): Promise<void> {
        return new Promise((resolve, reject) => {
            if (this.free > 0) {
                this.free--;
                return resolve();
            }
            const leave = () => {
                this.waiting.delete(start);
                signal?.removeEventListener("abort", abort);
            };
            const start = () => {
                leave();
                resolve();
            };
            const abort = () => {
                leave();
                reject(signal!.reason);
            };
            this.waiting.add(start);
            signal?.addEventListener("abort", abort);
        });
    }
}

import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Has threads in the states that dumps are read for. It ends when its standard input does. */
public class Waits {
    static final Object monitor = new Object();

    public static void main(String[] args) throws Exception {
        var lock = new ReentrantLock();
        var executor = Executors.newVirtualThreadPerTaskExecutor();
        for (int i = 0; i < 5; i++) {
            executor.submit(() -> { Thread.sleep(1_000_000); return 1; });
        }
        var owner = Thread.ofVirtual().name("owner").start(() -> { synchronized (monitor) { LockSupport.park(); } });
        until(owner, Thread.State.WAITING);
        var enterer = Thread.ofVirtual().name("enterer").start(() -> { synchronized (monitor) { } });
        until(enterer, Thread.State.BLOCKED);
        var waiter = Thread.ofVirtual().name("waiter").start(() -> {
            Object o = new Object();
            synchronized (o) {
                try { o.wait(); } catch (InterruptedException e) { }
            }
        });
        until(waiter, Thread.State.WAITING);
        var holder = Thread.ofVirtual().name("say \"hi\"/\n").start(() -> { lock.lock(); LockSupport.park(); });
        until(holder, Thread.State.WAITING);
        var locker = Thread.ofVirtual().name("locker").start(() -> { lock.lock(); });
        until(locker, Thread.State.WAITING);
        Thread.ofVirtual().name("spinner").start(() -> { while (true) Thread.onSpinWait(); });
        System.out.println("ready");
        System.in.read();
        System.exit(0);
    }

    static void until(Thread t, Thread.State state) throws Exception {
        while (t.getState() != state) {
            Thread.sleep(1);
        }
    }
}
